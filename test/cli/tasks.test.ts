/** The commands for tasks and runs: the real program against a real server. */
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { TaskInput } from '../../web/api/wire.ts'
import { createCommand, editCommand } from '../../web/screens/task-form/command.ts'
import { createTestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { startTestNode } from '../support/node.ts'
import { aDirectory, runBelfry } from '../support/process.ts'
import { inShell } from '../support/shell.ts'
import { startSink } from '../support/sink.ts'

const ESCAPE = String.fromCharCode(27)
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/

const node = await startTestNode(await createTestDatabase())
const env = { BELFRY_URL: node.url }
const belfry = (...args: string[]) => runBelfry(args, { env })
const json = async (...args: string[]) => JSON.parse((await belfry(...args, '--json')).stdout)
const create = async (task: object) => (await node.request('POST', '/v1/tasks', task)).body
const sleeper = { action: { type: 'sleep', duration: '0s' }, schedule: { type: 'manual' } }

test('a task is created, shown, paused, resumed, edited and deleted by its name', async () => {
  const created = await belfry(
    'task',
    'create',
    'hello',
    '--every',
    '1h',
    '--action',
    'sleep:1s',
    '--tag',
    'a',
  )
  const shown = await json('task', 'show', 'hello')
  const paused = await belfry('task', 'pause', 'hello')
  const whilePaused = await json('tasks', 'show', 'hello')
  const resumed = await belfry('task', 'resume', 'hello')
  const edited = await belfry('task', 'edit', 'hello', '--every', '2h', '--retries', '7', '--tag', '')
  const afterwards = await json('task', 'show', 'hello')
  const deleted = await belfry('task', 'rm', 'hello', '--yes')
  const gone = await belfry('task', 'show', 'hello')

  expect(created).toMatchObject({ code: 0, stderr: '' })
  expect(created.stdout).toMatch(
    /^✓ task hello {2}Every hour\n {2}id {4}[0-9a-f-]{36}\n {2}next {2}.* UTC? · in /,
  )
  expect(shown).toMatchObject({ state: 'scheduled', schedule: { interval: '1h' }, tags: ['a'], version: 1 })
  expect(paused.stdout).toBe('✓ task hello paused; its occurrences are recorded as skipped\n')
  expect(whilePaused.state).toBe('paused')
  expect(resumed.stdout).toMatch(/^✓ task hello resumed; next /)
  expect(edited.stdout).toContain('✓ task hello is now version 2  Every 2 hours')
  expect(afterwards).toMatchObject({
    schedule: { interval: '2h' },
    retry: { limit: 7, initial: '1s' },
    tags: [],
  })
  expect(deleted).toMatchObject({ code: 0, stdout: '✓ task hello is deleted\n' })
  expect(gone.code).toBe(3)
  expect(gone.stderr).toContain("No task has the id, key or name 'hello'.")
})

test('tasks and runs are named by the beginning of their ids, and an ambiguous one is refused', async () => {
  const [one, other] = [
    await create({ ...sleeper, name: 'one' }),
    await create({ ...sleeper, name: 'other' }),
  ]
  const run = (await node.request('POST', `/v1/tasks/${one.id}/trigger`)).body
  const shared = [...one.id].findIndex((character, place) => character !== other.id[place])

  const [task, shown, ambiguous, missing, short] = await Promise.all([
    json('task', 'show', one.id.slice(0, 35).toUpperCase()),
    json('run', 'show', run.id.slice(0, 35)),
    belfry('task', 'show', one.id.slice(0, shared)),
    belfry('run', 'show', 'ffffffff'),
    belfry('task', 'show', one.id.slice(0, 7)),
  ])

  expect(task.id).toBe(one.id)
  expect(shown).toMatchObject({ id: run.id, taskId: one.id })
  expect(ambiguous).toMatchObject({
    code: 5,
    stderr: expect.stringContaining('Give more characters of the id.'),
  })
  for (const { id, name } of [one, other]) expect(ambiguous.stderr).toContain(`${id}  ${name}`)
  expect(missing).toMatchObject({ code: 3, stderr: expect.stringContaining("starts with 'ffffffff'") })
  expect(short.code).toBe(3)
})

test('a pause has an end and a reason, and skipped occurrences can be restored', async () => {
  await create({ ...sleeper, name: 'resting', schedule: { type: 'every', interval: '1h' } })

  const paused = await belfry('task', 'pause', 'resting', '--until', '2h', '--reason', 'a move')
  const { resumeAt, pauseReason } = await json('task', 'show', 'resting')
  const wrong = await belfry('task', 'pause', 'resting', '--until', 'friday')
  await belfry('task', 'resume', 'resting', '--reason', 'moved')
  const skipping = await belfry('task', 'skip-next', 'resting', '--count', '2', '--reason', 'a holiday')
  const skipped = await json('task', 'show', 'resting')
  const undone = await belfry('task', 'skip-next', 'resting', '--undo')

  expect(paused.stdout).toMatch(/^✓ task resting paused until .* · in 2 h \(“a move”\); its occurrences/)
  expect(Date.parse(resumeAt) - Date.now()).toBeGreaterThan(60 * 60_000)
  expect(pauseReason).toBe('a move')
  expect(wrong).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("--until is 'friday'; it must be a time"),
  })
  expect(skipping.stdout).toMatch(/^✓ task resting skips its occurrences up to .*; to undo: .*--undo\n$/)
  expect(skipped.skipNext.reason).toBe('a holiday')
  expect(undone.stdout).toMatch(/^✓ task resting does not skip any occurrence; next /)
})

test('flags override the action and the retries of a task for one run', async () => {
  const sink = await startSink()
  const action = { type: 'http', url: sink.url, method: 'POST', headers: { a: '1' }, body: { usual: true } }
  await create({ action, schedule: { type: 'manual' }, name: 'otherwise' })
  const flags = ['--body', '{"usual":false}', '--header', 'b: 2', '--retries', '0', '--wait']

  const run = await belfry('task', 'run', 'otherwise', ...flags)
  const wrong = await belfry('task', 'trigger', 'otherwise', '--text', 'hi', '--timeout', 'soon')

  expect(run.code).toBe(0)
  expect(sink.hits).toMatchObject([{ body: '{"usual":false}', headers: { a: '1', b: '2' } }])
  expect(wrong.code).toBe(2)
  expect(wrong.stderr).toMatch(/--text: .*\n.*--timeout: |--timeout: .*/)
  expect(wrong.stderr).toContain('try:   belfry task run --help')
})

test('lists are tables, JSON with --json, or one value per line with --field', async () => {
  const { id } = await create({ ...sleeper, name: 'listed', tags: ['list'] })

  const table = await belfry('task', 'list', '--tag', 'list')
  const [line] = await json('task', 'ls', '--tag', 'list')
  const bare = await belfry('task', 'list', '--tag', 'list', '--field', 'id')
  const nothing = await belfry('task', 'list', '--tag', 'no such tag')

  expect(table.stdout).toMatch(
    /^NAME {4}STATE {8}SCHEDULE .* ID\nlisted {2}◔ scheduled {2}Only when triggered /,
  )
  expect(line).toMatchObject({ id, name: 'listed' })
  expect(bare.stdout).toBe(`${id}\n`)
  expect(nothing).toMatchObject({ code: 0, stdout: '', stderr: 'No tasks found.\n' })
})

test('an empty page with a cursor is not the end of a list', async () => {
  const task = await create({ ...sleeper, name: 'far behind', tags: ['far'] })
  const asked: (string | null)[] = []
  const far = createServer(({ url }, response) => {
    const cursor = new URL(url ?? '/', node.url).searchParams.get('cursor')
    asked.push(cursor)
    const page =
      cursor === null
        ? { items: [], nextCursor: 'b', partial: true }
        : { items: [task], nextCursor: null, partial: false }
    response.setHeader('content-type', 'application/json').end(JSON.stringify(page))
  }).listen(0)
  const { port } = far.address() as AddressInfo

  const listed = await runBelfry(['task', 'list', '--state', 'finished'], {
    env: { BELFRY_URL: `http://127.0.0.1:${port}` },
  })
  far.close()

  expect(asked).toEqual([null, 'b'])
  expect(listed).toMatchObject({ code: 0, stderr: '', stdout: expect.stringContaining('far behind') })
})

test('a list is read page by page, and a note says that there is more', async () => {
  const tasks = Array.from({ length: 250 }, (_, n) => ({ ...sleeper, name: `many ${n}`, tags: ['many'] }))
  await node.request('POST', '/v1/tasks/bulk', { tasks })

  const some = await belfry('task', 'list', '--tag', 'many', '--field', 'name')
  const all = await belfry('task', 'list', '--tag', 'many', '--limit', '1000', '--field', 'name')

  expect(some.stdout.split('\n')).toHaveLength(51)
  expect(some.stderr).toMatch(/^Showing 50 results; there are more\. To show up to 100: --limit 100/)
  expect(all.stdout.split('\n')).toHaveLength(251)
  expect(all.stderr).toBe('')
})

test('--wait prints each attempt, and the outcome of the run decides the exit code', async () => {
  const sink = await startSink((_, count) => (count <= 2 ? { status: 503 } : { status: 200, body: 'fine' }))
  await create({
    name: 'fragile',
    action: { type: 'http', url: sink.url, method: 'PUT' },
    schedule: { type: 'manual' },
    retry: { limit: 1, initial: '10ms', max: '10ms' },
  })

  const failed = await belfry('task', 'run', 'fragile', '--wait')
  const runId = /run show ([0-9a-f-]+)/.exec(failed.stdout)?.[1] ?? ''
  const shown = await belfry('run', 'show', runId)
  const again = await belfry('run', 'retry', runId, '--wait', '--json')
  const listed = await json('run', 'list', '--task', 'fragile')

  expect(failed.code).toBe(7)
  expect(failed.stdout).toMatch(
    /✓ task fragile triggered: run .*\n✕ attempt 1: .*503.*\n✕ attempt 2: .*503.*\n✕ permanently failed after 2 attempts/,
  )
  expect(shown.stdout).toMatch(
    /^run {2}✕ permanently failed\n[\s\S]*attempt 1 {2}✕ failed[\s\S]*attempt 2 {2}✕ failed/,
  )
  expect(again.code).toBe(0)
  expect(JSON.parse(again.stdout)).toMatchObject({
    state: 'completed',
    retryOf: runId,
    output: { body: 'fine' },
  })
  expect(listed).toMatchObject([{ state: 'completed' }, { state: 'permanently_failed' }])
})

test('a run in progress is cancelled, and a second cancellation is refused', async () => {
  await create({ ...sleeper, name: 'slow', action: { type: 'sleep', duration: '1h' } })
  const { stdout } = await belfry('task', 'run', 'slow', '--field', 'id')
  const id = stdout.trim()

  const cancelled = await belfry('run', 'cancel', id)
  await eventually(async () => (await node.request('GET', `/v1/runs/${id}`)).body.state === 'cancelled')
  const again = await belfry('run', 'cancel', id)

  expect(id).toMatch(UUID)
  expect(cancelled.code).toBe(0)
  expect(again.code).toBe(5)
  expect(again.stderr).toContain(`Run ${id} has already ended with the state cancelled.\ntry:   To rerun it`)
})

test('a wall time is in the zone of this machine or --timezone, and an edit keeps the zone of the task', async () => {
  const options = { env: { ...env, TZ: 'America/New_York' } }
  const run = (...args: string[]) => runBelfry(args, options)

  const assumed = await run('task', 'create', 'here', '--daily', '02:30', '--action', 'sleep:1s')
  await run(
    'task',
    'create',
    'there',
    '--cron',
    '30 2 * * *',
    '--timezone',
    'Europe/Berlin',
    '--action',
    'sleep:1s',
  )
  await run('task', 'edit', 'there', '--daily', '03:30')

  expect(assumed.stdout).toContain(
    'America/New_York is the time zone of this machine; to change it: --timezone',
  )
  expect(assumed.stdout).toMatch(/next {2}.*, 02:30 New York · in /)
  expect(assumed.stdout).toMatch(/note {2}02:30 does not exist on /)
  expect(await json('task', 'show', 'here')).toMatchObject({ timezone: 'America/New_York' })
  expect(await json('task', 'show', 'there')).toMatchObject({
    schedule: { type: 'daily', hour: 3, minute: 30, timezone: 'Europe/Berlin' },
  })
})

test('errors of the server name their flags, with a hint, and nothing is stored', async () => {
  const { code, stdout, stderr } = await belfry(
    ...['task', 'create', 'wrong', '--cron', '0 25 * * *', '--action', 'webhook:ftp://x', '--retries', 'few'],
  )

  expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  expect(stderr).toContain('error: The request is not valid.\nwhy:   --action: must start with http')
  expect(stderr).toContain('--cron: field 2 (hour) is 25; allowed 0–23')
  expect(stderr).toContain('--retries: must be a number')
  expect(stderr).toContain('try:   belfry task create --help\ncode:  invalid_input, request ')
  expect(stderr).not.toContain('    at ')
  expect((await belfry('task', 'show', 'wrong')).code).toBe(3)
})

test.each([
  [['task', 'create', '--action', 'sleep'], "--action is 'sleep'; it must have a form such as sleep:1s"],
  [['task', 'list', '--limit', '0'], "--limit is '0'; it must be a whole number from 1 to 10000."],
  [['task', 'list', '--server', 'nowhere'], "--server is 'nowhere'; it must be an address such as"],
  [['task', 'lst'], "Unknown command 'lst'. Did you mean 'list' or 'ls'?"],
  [['run', 'show', 'x'], 'The request is not valid.'],
])('%j is refused with exit code 2', async (args, message) => {
  const { code, stdout, stderr } = await belfry(...args)

  expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  expect(stderr).toContain(`error: ${message}`)
  expect(stderr).toContain('try:   ')
  expect(stderr).not.toContain('    at ')
})

test('cancelling or deleting a task needs --yes without a terminal', async () => {
  const { id } = await create({ ...sleeper, name: 'precious' })

  const refused = await belfry('task', 'delete', 'precious')
  const kept = await node.request('GET', `/v1/tasks/${id}`)
  const cancelled = await belfry('task', 'cancel', 'precious', '--yes', '--json')

  expect(refused.code).toBe(2)
  expect(refused.stderr).toContain(
    'This needs confirmation, and there is no terminal.\ntry:   Add --yes to confirm.',
  )
  expect(kept.status).toBe(200)
  expect(JSON.parse(cancelled.stdout)).toMatchObject({ id, state: 'cancelled' })
})

test('a name that two tasks share is refused; a key is unambiguous', async () => {
  const first = await create({ ...sleeper, name: 'twin' })
  const second = await create({ ...sleeper, name: 'twin', key: 'the second' })

  const unclear = await belfry('task', 'pause', 'twin')
  const clear = await belfry('task', 'pause', 'the second', '--json')

  expect(unclear.code).toBe(5)
  expect(unclear.stderr).toContain("2 tasks have the name 'twin'.")
  expect(unclear.stderr).toContain(first.id)
  expect(JSON.parse(clear.stdout)).toMatchObject({ id: second.id, state: 'paused' })
})

test('an edit with an outdated --if-version changes nothing', async () => {
  const { id } = await create({ ...sleeper, name: 'versioned' })
  await node.request('PATCH', `/v1/tasks/${id}`, { priority: 3 })

  const { code, stderr } = await belfry('task', 'edit', 'versioned', '--if-version', '1', '--priority', '4')

  expect(code).toBe(5)
  expect(stderr).toContain('The task is at version 2, not 1.')
  expect(await json('task', 'show', 'versioned')).toMatchObject({ version: 2, priority: 3 })
})

test('a task is read from a file, and flags override its fields', async () => {
  const file = join(aDirectory(), 'task.json')
  writeFileSync(file, JSON.stringify({ ...sleeper, name: 'from a file', priority: 1 }))

  await belfry('task', 'create', '--file', file, '--priority', '2', '--paused')

  const shown = await json('task', 'show', 'from a file')
  expect(shown).toMatchObject({ priority: 2, state: 'paused', pausedAt: shown.createdAt })
})

test('control characters in a name are escaped', async () => {
  await create({ ...sleeper, name: `evil ${ESCAPE}[31m\u202etxt`, tags: ['evil'] })

  const { stdout } = await belfry('task', 'list', '--tag', 'evil')

  expect(stdout).not.toContain(ESCAPE)
  expect(stdout).toContain('evil \\u001b[31m\\u202etxt')
})

test('an unreachable server is reported with a hint', async () => {
  const closed = createServer()
  await new Promise<void>((resolve) => closed.listen(0, '127.0.0.1', resolve))
  const { port } = closed.address() as AddressInfo
  await new Promise((resolve) => closed.close(resolve))

  const { code, stdout, stderr } = await runBelfry(['task', 'list', '--server', `http://127.0.0.1:${port}`])

  expect({ code, stdout }).toEqual({ code: 6, stdout: '' })
  expect(stderr).toBe(
    `error: Cannot reach a Belfry server at http://127.0.0.1:${port} (ECONNREFUSED).\n` +
      'try:   Start a server: belfry start. To use another address: --server or BELFRY_URL\n',
  )
})

test('a server that is not Belfry is recognised', async () => {
  const sink = await startSink(() => ({
    status: 200,
    headers: { 'content-type': 'text/html' },
    body: '<html>',
  }))

  const { code, stderr } = await runBelfry(['task', 'list', '--server', sink.url])

  expect(code).toBe(6)
  expect(stderr).toContain(`The server at ${sink.url} is not a Belfry server`)
})

const NASTY = `it's $HOME \`id\` "x" \\ !! *\n& ; | < > # ~ %s {a,b} 💥 שלום`

test.each<[string, TaskInput]>([
  [
    'an ordinary one',
    { name: 'a', action: { type: 'sleep', duration: '1s' }, schedule: { type: 'every', interval: '1h' } },
  ],
  [
    'one that shells would stumble over',
    {
      name: NASTY,
      owner: '--not a flag',
      action: {
        type: 'http',
        url: 'http://127.0.0.1:9/?a=$(id)&b',
        method: 'POST',
        headers: { 'x-a': "it's" },
        body: NASTY,
      },
      schedule: { type: 'daily', hour: 2, minute: 30, timezone: 'Europe/Berlin', gap: 'skip' },
      tags: ["'", '-x', '$x'],
    },
  ],
  [
    'one whose name begins like a flag',
    {
      name: '-rf',
      action: { type: 'webhook', url: 'http://127.0.0.1:9', body: { a: ["'", 1] } },
      schedule: { type: 'manual' },
    },
  ],
])('the command for %s, run by a shell, creates the same task', async (_, input) => {
  const same = ({ body }: { body: Record<string, unknown> }) => {
    const { id, createdAt, updatedAt, nextFireAt, nextFireLocal, ...rest } = body
    return rest
  }
  const { stdout } = await inShell(`${createCommand(input, { server: node.url })} --field id`)

  const made = await node.request('GET', `/v1/tasks/${stdout.trim()}`)
  const wanted = await node.request('POST', '/v1/tasks', input)
  expect(same(made)).toEqual(same(wanted))
})

test('the command for an edit, run by a shell, makes the same edit', async () => {
  const { id } = await create({ ...sleeper, name: 'edited', owner: 'somebody', retry: { limit: 2 } })

  await inShell(
    editCommand({ owner: null, name: NASTY, retry: { limit: 5 } }, { id, version: 1, server: node.url }),
  )

  expect((await node.request('GET', `/v1/tasks/${id}`)).body).toMatchObject({
    version: 2,
    owner: null,
    name: NASTY,
    retry: { limit: 5, initial: '1s' },
  })
})
