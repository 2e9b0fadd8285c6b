/** `belfry run-on-schedule`: the real program against a real server. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createTestDatabase } from '../support/database.ts'
import { startTestNode } from '../support/node.ts'
import { aDirectory, runBelfry } from '../support/process.ts'

const node = await startTestNode(await createTestDatabase())
const env = { BELFRY_URL: node.url, TZ: 'Europe/Berlin' }

let programs = 0
function aProgram(name: string, text = `#!/bin/sh\necho "${++programs} $1 $GREETING"\n`): string {
  const path = join(aDirectory(), name)
  writeFileSync(path, text)
  return path
}

const run = (...args: string[]) => runBelfry(['run-on-schedule', ...args], { env })
const json = async (...args: string[]) => JSON.parse((await run(...args, '--json')).stdout)
const filesNamed = async (name: string) => (await node.request('GET', `/v1/files?name=${name}`)).body.items

test('one command uploads and schedules a program', async () => {
  const path = aProgram('backup.sh')

  const { code, stdout } = await run(
    ...[
      path,
      '--cron',
      '0 3 * * *',
      '--env',
      'GREETING=hi',
      '--env',
      'EMPTY=',
      '--arg',
      'all',
      '--arg',
      '-v',
    ],
    ...['--network', '--retries', '1', '--label', 'host=web1'],
  )

  expect(code).toBe(0)
  expect(stdout).toMatch(/^✓ task backup\.sh created {2}Every day at 03:00 \(Europe\/Berlin\)/)
  expect(stdout).toMatch(
    /\n {2}file {2}[0-9a-f-]{36} {2}\d+ bytes, script\n {2}next {2}.*, 03:00 Berlin · in /,
  )
  const [file] = await filesNamed('backup.sh')
  expect((await node.request('GET', '/v1/tasks/by-key/backup.sh')).body).toMatchObject({
    name: 'backup.sh',
    action: {
      type: 'exec',
      file: file.id,
      args: ['all', '-v'],
      env: { GREETING: 'hi', EMPTY: '' },
      network: true,
    },
    schedule: { type: 'cron', expression: '0 3 * * *', timezone: 'Europe/Berlin' },
    retry: { limit: 1 },
    labels: ['host=web1'],
  })
})

test('repeating the command changes nothing, and other flags or content change the task', async () => {
  const path = aProgram('again.sh')
  const text = readFileSync(path)
  const flags = ['--every', '1h', '--arg', 'one']

  const created = await json(path, ...flags)
  const same = await json(path, ...flags)
  const retimed = await json(path, '--every', '2h', '--arg', 'one')
  writeFileSync(path, '#!/bin/sh\necho changed\n')
  const other = await json(path, '--every', '2h', '--arg', 'one')
  writeFileSync(path, text)
  const back = await json(path, '--every', '2h', '--arg', 'one')

  expect([created, same, retimed, other, back].map(({ change }) => change)).toEqual([
    'created',
    'unchanged',
    'changed',
    'changed',
    'changed',
  ])
  expect([created, same, retimed, other, back].map(({ sentBytes }) => sentBytes > 0)).toEqual([
    true,
    false,
    false,
    true,
    false,
  ])
  expect([same.file.id, retimed.file.id, back.file.id]).toEqual(Array(3).fill(created.file.id))
  expect(back.task.version).toBe(4)
  expect(await filesNamed('again.sh')).toHaveLength(2)
})

test('names and keys distinguish tasks of the same program', async () => {
  const path = aProgram('shared.sh')

  const one = await json(path, '--every', '1h', '--name', 'shared one')
  const two = await json(path, '--every', '1h', '--name', 'shared two', '--key', 'two')

  expect([one, two].map(({ task }) => [task.name, task.key])).toEqual([
    ['shared one', 'shared one'],
    ['shared two', 'two'],
  ])
  expect(two).toMatchObject({ sentBytes: 0, file: { id: one.file.id } })
})

test('errors name their flags, and no task is created', async () => {
  const path = aProgram('wrong.sh')

  const without = await run(path)
  const wrong = await run(path, '--cron', '61 * * * *')
  const missing = await run('/nowhere/program', '--every', '1h')
  const empty = await run(aProgram('empty.sh', ''), '--every', '1h')

  expect(without).toMatchObject({ code: 2, stderr: expect.stringContaining('No schedule was given.') })
  expect(wrong).toMatchObject({ code: 2, stderr: expect.stringContaining('--cron: field 1 (minute) is 61') })
  expect(missing).toMatchObject({ code: 2, stderr: expect.stringContaining('Cannot read /nowhere/program') })
  expect(empty).toMatchObject({ code: 2, stderr: expect.stringContaining('is empty') })
  expect((await node.request('GET', '/v1/tasks/by-key/wrong.sh')).status).toBe(404)
})

test('a file that is not a program is refused, and a command that no worker runs causes a warning', async () => {
  const belfry = (...args: string[]) => runBelfry(args, { env })
  const manual = ['--manual', '--action']
  const [text, windows, unending, variable, named, command] = await Promise.all([
    run(aProgram('notes.txt', 'just text\n'), '--every', '1h'),
    run(aProgram('lines.sh', '#!/bin/sh\r\necho hi\r\n'), '--every', '1h'),
    run(aProgram('setup.zip', 'PK\x03\x04'), '--every', '1h'),
    run(aProgram('fine.sh'), '--every', '1h', '--env', 'BELFRY_X=1'),
    belfry('task', 'create', 'named', ...manual, 'exec:rsync'),
    belfry('task', 'create', 'command', ...manual, 'exec:/opt/nobody/allows-this'),
  ])

  for (const { code } of [text, windows, unending, variable, named]) expect(code).toBe(2)
  expect(text.stderr).toMatch(/notes\.txt is not a program\.\ntry: {3}Give a Linux program, or a script/)
  expect(windows.stderr).toContain('Save the file with Unix line endings.')
  expect(unending.stderr).toContain('setup.zip is an archive.')
  expect(variable.stderr).toContain('--env BELFRY_X: is set by Belfry and cannot be overridden')
  expect(named.stderr).toContain('exec takes the absolute path of a command on the worker')
  expect(await filesNamed('notes.txt')).toEqual([])
  expect(command.code).toBe(0)
  expect(command.stdout).toMatch(
    /! No worker currently runs \/opt\/nobody\/allows-this\. .*--exec-commands \/opt\/nobody\/allows-this\. Until then its runs wait\.\n$/,
  )
})
