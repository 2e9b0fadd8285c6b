/** `belfry import crontab`: the real program against a real server. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createTestDatabase } from '../support/database.ts'
import { startTestNode } from '../support/node.ts'
import { aDirectory, launch, runBelfry } from '../support/process.ts'

const node = await startTestNode(await createTestDatabase())
const env = { BELFRY_URL: node.url, TZ: 'Europe/Berlin' }
let prefixes = 0
const aPrefix = () => `host-${++prefixes}`

const CRONTAB = `MAILTO=ops@example.com
PATH=/usr/local/bin:/usr/bin:/bin

# Nightly backup
30 2 * * *    /usr/local/bin/backup.sh --full
*/5 * * * *   curl -fsS http://127.0.0.1:4000/sync
CRON_TZ=America/New_York
0 9 * * 1-5   mail -s Report ada%Good morning
#0 4 * * *    /usr/local/bin/old.sh
@reboot       /usr/local/bin/warm-up.sh
`

function aFile(text: string): string {
  const file = join(aDirectory(), 'crontab')
  writeFileSync(file, text)
  return file
}

const run = (text: string, ...flags: string[]) =>
  runBelfry(['import', 'crontab', aFile(text), ...flags], { env })
const tasksOf = async (prefix: string) =>
  (await node.request('GET', `/v1/tasks?tag=crontab:${prefix}&limit=100`)).body.items.toReversed()

test('the tasks of a crontab are shown, and a dry run creates nothing', async () => {
  const prefix = aPrefix()

  const { code, stdout, stderr } = await run(CRONTAB, '--prefix', prefix, '--dry-run')

  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(stdout).toContain('4 jobs in a crontab of one user. Times without CRON_TZ are in Europe/Berlin')
  expect(stdout).toMatch(
    /^5 +new +Nightly backup +Every day at 02:30 \(Europe\/Berlin\) .* · in .* \/usr\/local\/bin\/backup\.sh --full$/m,
  )
  expect(stdout).toMatch(/^8 +new +mail -s Report ada +Every weekday at 09:00 \(America\/New_York\)/m)
  expect(stdout).toContain(
    'As under cron: no retries, runs may overlap, missed occurrences are skipped. Timeout 1d.',
  )
  expect(stdout).toMatch(
    /Not imported\n {2}line 10: @reboot \/usr\/local\/bin\/warm-up\.sh\n {4}Belfry has no @reboot/,
  )
  expect(stdout).toMatch(
    /Different from cron\n {2}lines 5, 6 and 8: MAILTO=ops@example\.com becomes the owner: Belfry does not mail output\./,
  )
  expect(stdout).toContain('lines 5, 6 and 8: PATH=/usr/local/bin:/usr/bin:/bin')
  expect(stdout).toContain('Commented out: line 9')
  expect(stdout).toContain(
    '! No worker currently runs /bin/sh. The operator of a worker must allow it: --exec on --exec-commands /bin/sh.',
  )
  expect(stdout).toContain('Nothing was created: --dry-run')
  expect(await tasksOf(prefix)).toEqual([])
})

test('a second import changes only the tasks of lines that changed', async () => {
  const prefix = aPrefix()
  const flags = ['--prefix', prefix, '--label', 'host=web1', '--yes']

  const first = await run(CRONTAB, ...flags)
  const created = await tasksOf(prefix)
  const again = await run(CRONTAB, ...flags)
  const unchanged = await tasksOf(prefix)
  const changed = await run(CRONTAB.replace('30 2', '15 3').replace(/^\*\/5.*\n/m, ''), ...flags)
  const afterwards = await tasksOf(prefix)

  expect(first.stdout).toContain('✓ 3 tasks created\n  These lines still run under cron as well.')
  expect(created).toMatchObject([
    {
      name: 'Nightly backup',
      key: expect.stringMatching(`^${prefix}:backup\\.sh-`),
      action: {
        type: 'exec',
        command: '/bin/sh',
        args: ['-c', '/usr/local/bin/backup.sh --full'],
        env: { PATH: '/usr/local/bin:/usr/bin:/bin' },
        network: true,
      },
      labels: ['host=web1'],
      retry: { limit: 0 },
      overlap: 'allow',
      misfire: { policy: 'skip' },
      timeout: '1d',
    },
    { action: { args: ['-c', 'curl -fsS http://127.0.0.1:4000/sync'] } },
    { action: { stdin: 'Good morning\n' }, schedule: { timezone: 'America/New_York' } },
  ])
  expect(again.stdout).toContain('✓ nothing to change\n')
  expect(unchanged).toEqual(created)
  expect(changed.stdout).toContain('✓ 1 task changed\n')
  expect(changed.stdout).toMatch(
    /No longer in the crontab; to delete one: belfry task delete KEY\n {2}host-\d+:curl-/,
  )
  expect(afterwards.map(({ version }: { version: number }) => version)).toEqual([2, 1, 1])
  expect(afterwards[0].schedule.expression).toBe('15 3 * * *')
})

test('a second import keeps settings that were changed in Belfry', async () => {
  const prefix = aPrefix()
  const line = 'PGPASSWORD=one\n0 1 * * * pg_dump'
  await run(line, '--prefix', prefix, '--yes')
  const [{ id, action }] = await tasksOf(prefix)
  await node.request('PATCH', `/v1/tasks/${id}`, {
    retry: { limit: 5 },
    action: { ...action, network: false, limits: { memory: '1GiB' } },
  })

  const same = await run(line, '--prefix', prefix, '--yes')
  const other = await run(line.replace('one', 'two'), '--prefix', prefix, '--yes')

  expect(same.stdout).toContain('✓ nothing to change')
  expect(other.stdout).toContain('✓ 1 task changed')
  expect(await tasksOf(prefix)).toMatchObject([
    { version: 3, retry: { limit: 5 }, action: { network: false, limits: { memory: '1GiB' } } },
  ])
})

test('the import reports if no worker with the given labels runs the shell', async () => {
  const offer = { actions: ['exec'], commands: ['/bin/sh'], labels: ['host=db1'], version: '0.2.0' }
  await node.request('POST', '/v1/worker/register', offer)
  const line = '0 1 * * * a'
  const missing = async (...flags: string[]) =>
    JSON.parse((await run(line, '--prefix', aPrefix(), '--dry-run', '--json', ...flags)).stdout).missing

  expect(await missing()).toEqual([])
  expect(await missing('--label', 'host=db1')).toEqual([])
  expect(await missing('--label', 'host=db2')).toEqual([
    'No worker with the label host=db2 currently runs /bin/sh. The operator of a worker must allow it: --exec on --exec-commands /bin/sh.',
  ])
})

test('invalid lines are named, and prevent the import unless --skip-invalid is given', async () => {
  const prefix = aPrefix()
  const text = '0 1 * * * good\n61 * * * * bad\nhello\n'

  const refused = await run(text, '--prefix', prefix, '--yes')
  const before = await tasksOf(prefix)
  const skipped = await run(text, '--prefix', prefix, '--yes', '--skip-invalid')

  expect(refused.code).toBe(2)
  expect(refused.stdout).toMatch(
    /Errors\n {2}line 2: 61 \* \* \* \* bad\n {4}field 1 \(minute\) is 61; allowed 0–59 or H\n {2}line 3: hello\n/,
  )
  expect(refused.stderr).toContain('error: 2 lines cannot be read; nothing was created.')
  expect(before).toEqual([])
  expect(skipped).toMatchObject({ code: 0, stdout: expect.stringContaining('✓ 1 task created') })
})

test('tasks are created only after confirmation, and paused with --paused', async () => {
  const prefix = aPrefix()

  const asked = await run('0 1 * * * a', '--prefix', prefix)
  const nothing = await tasksOf(prefix)
  const paused = await run('0 1 * * * a', '--prefix', prefix, '--paused', '--yes')

  expect(asked).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('Create 1 task? This needs confirmation'),
  })
  expect(nothing).toEqual([])
  expect(paused.stdout).toContain('✓ 1 task created and paused\n')
  expect(paused.stdout).toContain(
    `belfry task list --tag crontab:${prefix} --field id | xargs -n 1 belfry task resume`,
  )
  const [task, ...others] = await tasksOf(prefix)
  expect(others).toEqual([])
  expect(task).toMatchObject({ state: 'paused', pausedAt: task.createdAt })
})

test('a system crontab is read from standard input and reported as JSON', async () => {
  const prefix = aPrefix()
  const args = ['import', 'crontab', '-', '--system', '--prefix', prefix, '--json', '--yes']
  const shell = ['/bin/sh', '-c', 'printf "@hourly www-data /bin/a\\n@reboot root /bin/b\\n" | "$@"', 'sh']

  const { code, stdout } = await launch(args, { env, prefix: shell }).exited

  expect(code).toBe(0)
  expect(JSON.parse(stdout)).toMatchObject({
    isSystem: true,
    timezone: 'Europe/Berlin',
    prefix,
    tasks: [
      {
        line: 1,
        change: 'create',
        id: expect.stringMatching(/^[0-9a-f-]{36}$/),
        scheduleInWords: 'Every hour at minute 0 (Europe/Berlin)',
        next: [expect.any(String), expect.any(String), expect.any(String)],
        notes: [{ about: 'user', note: expect.stringContaining('user www-data') }],
        task: { metadata: { crontab: { user: 'www-data' } }, action: { args: ['-c', '/bin/a'] } },
      },
    ],
    leftOut: [{ line: 2, reason: expect.stringContaining('@reboot') }],
    problems: [],
  })
})

test('an error of the server names the line, and nothing is created', async () => {
  const prefix = aPrefix()

  const refused = await run('0 1 * * * a\n0 2 * * * b', '--prefix', prefix, '--timeout', '2d', '--yes')

  expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining('line 1, timeout: ') })
  expect(await tasksOf(prefix)).toEqual([])
})

test('a dry run works without a server, and wrong flags are named', async () => {
  const nowhere = { env: { ...env, BELFRY_URL: 'http://127.0.0.1:9' } }
  const file = aFile('0 1 * * * a')

  const dry = await runBelfry(['import', 'crontab', file, '--dry-run'], nowhere)
  const zone = await run('0 1 * * * a', '--timezone', 'Mars/Base')
  const prefix = await run('0 1 * * * a', '--prefix', 'a b')
  const missing = await runBelfry(['import', 'crontab', '/nowhere/crontab'], { env })

  expect(dry).toMatchObject({ code: 0, stderr: expect.stringContaining('All tasks are shown as new.') })
  expect(zone).toMatchObject({ code: 2, stderr: expect.stringContaining("--timezone is 'Mars/Base'") })
  expect(prefix).toMatchObject({ code: 2, stderr: expect.stringContaining("--prefix is 'a b'") })
  expect(missing).toMatchObject({ code: 2, stderr: expect.stringContaining('Cannot read /nowhere/crontab') })
})
