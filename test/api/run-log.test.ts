/** Logs of runs: written by workers of the users' own, read and followed on another node. */
import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { LogFeed } from '../../src/api/resources/runs/log-feed.ts'
import { LOG_START } from '../../src/core/run/log-line.ts'
import { DEFAULT_PROJECT_ID } from '../../src/core/values/default-project.ts'
import { findLog } from '../../src/operations/runs/read-log.ts'
import { issueAttemptToken } from '../../src/secrets/attempt-token.ts'
import { sql } from '../../src/store/database/sql.ts'
import { silentLogger } from '../../src/telemetry/logger.ts'
import { steadyClock } from '../support/clock.ts'
import { createTestDatabase } from '../support/database.ts'
import { type EventSource, openEvents } from '../support/event-source.ts'
import { eventually } from '../support/eventually.ts'
import { logOf, type ShownLine } from '../support/logs.ts'
import { startOneNode, startTestNode } from '../support/node.ts'
import { aWorker, type GivenRun, type HandWorker } from '../support/remote-worker.ts'
import { aVault, ofFiles } from '../support/vault.ts'

const database = await createTestDatabase()
const { db } = database
const MAX_LOG_BYTES = 20 * 1024 * 1024
/** One does everything, the other only answers: what it tells it cannot know from itself. */
const node = await startTestNode(database, { maxLogBytes: MAX_LOG_BYTES })
const other = await startTestNode(database, { roles: 'api', maxLogBytes: MAX_LOG_BYTES })

let count = 0
const AT = '2026-11-16T09:00:00.000Z'

interface Logged {
  readonly worker: HandWorker
  readonly run: GivenRun
  readonly name: string
  /** Sends lines through one of the nodes. */
  log(first: number, lines: readonly unknown[], url?: string): Promise<{ status: number; body: unknown }>
  end(fields?: Record<string, unknown>): Promise<unknown>
}

/** A run in the hands of a worker. */
async function aRun(fields: Record<string, unknown> = {}): Promise<Logged> {
  const name = `logs-${++count}`
  const action = { type: 'handler', name, payload: {} }
  const task = { action, retry: { limit: 3, initial: '1ms', max: '1ms' }, ...fields }
  const { status } = await node.request('POST', '/v1/tasks', task)
  expect(status).toBe(201)
  const worker = await aWorker(node.url, { handlers: [name] })
  const [run] = (await worker.claim(1)) as [GivenRun]
  return loggedBy(worker, run, name)
}

function loggedBy(worker: HandWorker, run: GivenRun, name: string): Logged {
  const held = { runId: run.runId, fence: run.fence }
  return {
    worker,
    run,
    name,
    log: (first, lines, url) => worker.say('log', { runs: [{ ...held, first, lines }] }, url),
    end: (said = {}) => worker.say('complete', { runs: [{ ...held, outcome: 'completed', ...said }] }),
  }
}

/** The next attempt at the run. */
async function again({ worker, name }: Logged): Promise<Logged> {
  const [run] = (await worker.claim(1)) as [GivenRun]
  return loggedBy(worker, run, name)
}

const line = (message: string, more = {}) => ({ at: AT, level: 'info', message, ...more })
const numbered = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, i) => line(`line ${from + i}`))

const path = ({ run }: Logged, query = '') => `/v1/runs/${run.runId}/log${query}`
const textsOf = (lines: readonly ShownLine[]) => lines.map(({ text }) => text)
const textOf = async (logged: Logged, query = '') => {
  const answer = await fetch(`${other.url}${path(logged, query)}`, { headers: { accept: 'text/plain' } })
  return { status: answer.status, headers: answer.headers, text: await answer.text() }
}

const follow = (logged: Logged, { query = '', headers = {}, url = other.url } = {}) =>
  openEvents(`${url}${path(logged, query)}`, { accept: 'text/event-stream', ...headers })
const told = ({ events }: EventSource): string[] =>
  events.flatMap(({ event, data }) => (event === 'lines' ? textsOf(data) : []))

test('lines are stored as they are sent, and are read on every node', async () => {
  const logged = await aRun()

  await logged.log(0, [line('begun'), line('odd', { level: 'warn' }), line('two\nlines')])
  await logged.log(3, [
    { at: AT, stream: 'stdout', message: 'half ' },
    { at: AT, stream: 'stderr', message: 'oh\n' },
    { at: AT, stream: 'stdout', message: 'a line\n' },
  ])

  const lines = await logOf(other, logged.run.runId)
  expect(lines.map(({ stream, level, text, isPartial }) => ({ stream, level, text, isPartial }))).toEqual([
    { stream: 'log', level: 'info', text: 'begun', isPartial: false },
    { stream: 'log', level: 'warn', text: 'odd', isPartial: false },
    { stream: 'log', level: 'info', text: 'two', isPartial: false },
    { stream: 'log', level: 'info', text: 'lines', isPartial: false },
    { stream: 'stdout', level: null, text: 'half ', isPartial: true },
    { stream: 'stderr', level: null, text: 'oh', isPartial: false },
    { stream: 'stdout', level: null, text: 'a line', isPartial: false },
  ])
  expect(lines[0]).toMatchObject({ attempt: 1, at: AT, omitted: null })
  expect(new Set(lines.map(({ id }) => id)).size).toBe(lines.length)
})

test('lines that are sent twice, to one node or two, are stored once', async () => {
  const logged = await aRun()

  await logged.log(0, numbered(0, 10))
  await logged.log(0, numbered(0, 15), other.url)
  await logged.log(10, numbered(10, 20))
  await logged.end({ log: numbered(5, 25), logFirst: 5 })
  await logged.end({ log: numbered(5, 25), logFirst: 5 })

  expect(textsOf(await logOf(node, logged.run.runId))).toEqual(numbered(0, 25).map(({ message }) => message))
})

test('a run takes lines only from the worker that leases it, and none after its end', async () => {
  const logged = await aRun()
  const runId = logged.run.runId
  await logged.end()

  const late = await logged.log(0, [line('too late')])
  const stale = await aRun()
  const wrong = await stale.worker.say('log', {
    runs: [{ runId: stale.run.runId, fence: stale.run.fence + 1, first: 0, lines: [line('not mine')] }],
  })
  const foreign = await stale.worker.say('log', { runs: [{ runId, fence: 1, first: 0, lines: [line('x')] }] })

  expect(late).toMatchObject({ status: 200, body: { lost: [runId] } })
  expect(wrong.body).toEqual({ lost: [stale.run.runId] })
  expect(foreign.body).toEqual({ lost: [runId] })
  expect(await logOf(node, runId)).toEqual([])
  expect(await logOf(node, stale.run.runId)).toEqual([])
})

test('invalid lines are refused with the field, and nothing is stored', async () => {
  const logged = await aRun()

  const answers = await Promise.all([
    logged.log(0, []),
    logged.log(-1, [line('x')]),
    logged.log(0, [line('x', { level: 'loud' })]),
    logged.log(0, [line('x', { stream: 'stdin' })]),
    logged.log(0, [{ at: 'yesterday', level: 'info', message: 'x' }]),
    logged.log(0, [line('x'.repeat(100_001))]),
  ])

  expect(answers.map(({ status }) => status)).toEqual([422, 422, 422, 422, 422, 422])
  expect(answers.map(({ body }) => (body as { errors: { pointer: string }[] }).errors[0]?.pointer)).toEqual([
    '/runs/0/lines',
    '/runs/0/first',
    '/runs/0/lines/0/level',
    '/runs/0/lines/0/stream',
    '/runs/0/lines/0/at',
    '/runs/0/lines/0/message',
  ])
  expect(await logOf(node, logged.run.runId)).toEqual([])
})

test('a stream on another node shows every line of every attempt until the run ends', async () => {
  const first = await aRun()
  await first.log(0, numbered(0, 3))
  const source = await follow(first)
  await source.next('lines', (lines) => textsOf(lines).includes('line 2'))

  await first.log(3, numbered(3, 5))
  await source.next('lines', (lines) => textsOf(lines).includes('line 4'))
  await first.end({ outcome: 'failed', log: [line('last words')], logFirst: 5, error: { message: 'no' } })
  const second = await again(first)
  await second.log(0, [line('once more')])
  await second.end({ log: [line('done')], logFirst: 1 })
  const end = await source.next('end')
  await source.ended

  expect(told(source)).toEqual([
    ...numbered(0, 5).map(({ message }) => message),
    'last words',
    'once more',
    'done',
  ])
  expect(end.data).toEqual({ reason: 'ended', state: 'completed' })
  const attempts = source.events.flatMap(({ event, data }) => (event === 'lines' ? data : []))
  expect(attempts.map(({ attempt }) => attempt)).toEqual([1, 1, 1, 1, 1, 1, 2, 2])
  expect(textsOf(await logOf(other, first.run.runId, { attempt: '2' }))).toEqual(['once more', 'done'])
})

test('a stream shows a line within a second', async () => {
  const logged = await aRun()
  const source = await follow(logged)
  await source.next('hello')
  const waits: number[] = []

  for (let i = 0; i < 5; i++) {
    const sentAt = performance.now()
    await logged.log(i, [line(`line ${i}`)])
    const { at } = await source.next('lines', (lines) => textsOf(lines).includes(`line ${i}`))
    waits.push(at - sentAt)
  }

  // The writer gathers for 250 ms at most and the feed looks every 250 ms; the rest is for a busy machine.
  expect(Math.min(...waits)).toBeLessThan(1_000)
})

test('an interrupted stream continues after the last event, on any node, and ends with 204', async () => {
  const logged = await aRun()
  await logged.log(0, numbered(0, 10))
  const before = await follow(logged, { url: node.url })
  const last = await before.next('lines')
  before.close()
  await logged.log(10, numbered(10, 12))

  const after = await follow(logged, { headers: { 'last-event-id': last.id } })
  await after.next('lines')
  await logged.end({ log: [line('end')], logFirst: 12 })
  await after.ended
  const final = after.events.findLast(({ event }) => event === 'lines')
  const done = await follow(logged, { headers: { 'last-event-id': final?.id ?? '' } })
  const anew = await follow(logged)
  await anew.ended

  expect(told(before)).toEqual(numbered(0, 10).map(({ message }) => message))
  expect(told(after)).toEqual(['line 10', 'line 11', 'end'])
  expect(done.status).toBe(204)
  expect(told(anew)).toHaveLength(13)
  expect(anew.events.at(-1)).toMatchObject({ event: 'end', data: { reason: 'ended', state: 'completed' } })
})

test('a stream can follow a run that has not begun or writes no lines', async () => {
  const name = `logs-${++count}`
  const task = { action: { type: 'handler', name }, schedule: { type: 'manual' } }
  const { body } = await node.request('POST', '/v1/tasks', task)
  const { body: pending } = await node.request('POST', `/v1/tasks/${body.id}/trigger`)
  const source = await openEvents(`${other.url}/v1/runs/${pending.id}/log`, { accept: 'text/event-stream' })
  await source.next('hello')

  await node.request('POST', `/v1/runs/${pending.id}/cancel`)
  await source.ended

  expect(source.events.map(({ event }) => event)).toEqual(['hello', 'end'])
  expect(source.events.at(-1)?.data).toEqual({ reason: 'ended', state: 'cancelled' })
})

test('a log of a hundred thousand lines is read in pages, searched and downloaded', async () => {
  const logged = await aRun()
  const total = 100_000
  for (let from = 0; from < total; from += 5_000) {
    const lines = Array.from({ length: 5_000 }, (_, i) =>
      line(`${from + i} ${(from + i) % 997 ? 'ok' : 'OOPS'}`),
    )
    const { status } = await logged.log(from, lines, from % 10_000 ? node.url : other.url)
    expect(status).toBe(200)
  }
  await logged.end()
  const expected = Array.from({ length: total }, (_, i) => `${i} ${i % 997 ? 'ok' : 'OOPS'}`)

  const all = textsOf(await logOf(other, logged.run.runId, { limit: '1000' }))
  const found = textsOf(await logOf(other, logged.run.runId, { q: 'oops' }))
  const none = await logOf(other, logged.run.runId, { q: 'nothing of the kind' })
  const text = await textOf(logged)
  const { body: page } = await other.request('GET', path(logged, '?limit=7'))

  expect(all).toEqual(expected)
  expect(found).toEqual(expected.filter((each) => each.endsWith('OOPS')))
  expect(none).toEqual([])
  expect(text.text).toBe(`${expected.join('\n')}\n`)
  expect(text.headers.get('content-type')).toBe('text/plain; charset=utf-8')
  expect(text.headers.get('content-disposition')).toContain(`run-${logged.run.runId}.log`)
  expect(page.items).toHaveLength(7)
  const [stored] = await db.run(
    sql<{ rows: number }>`select count(*)::integer as rows from run_log where run_id = ${logged.run.runId}`,
  )
  expect(stored?.rows).toBeLessThan(500)
})

test('the text form joins partial lines and separates attempts', async () => {
  const first = await aRun()
  await first.log(0, [
    { at: AT, stream: 'stdout', message: 'working' },
    { at: AT, stream: 'stdout', message: '...done\n' },
    { at: AT, stream: 'stdout', message: 'no end' },
    line('a message'),
  ])
  await first.end({ outcome: 'failed', error: { message: 'no' } })
  const second = await again(first)
  await second.log(0, [line('again')])
  await second.end()

  const { text } = await textOf(first)
  const { text: timed } = await textOf(first, '?timestamps=true&attempt=2')
  const linked = await fetch(`${other.url}${path(first, '?format=text')}`)

  expect(text).toBe('working...done\nno end\na message\n==> attempt 2 <==\nagain\n')
  expect(timed).toBe(`${AT} again\n`)
  expect(await linked.text()).toBe(text)
})

test('lines since an instant, and lines after another line, are found', async () => {
  const logged = await aRun()
  await logged.log(0, [
    line('early'),
    line('late', { at: '2026-11-16T10:00:00.000Z' }),
    line('latest', { at: '2026-11-16T11:00:00.000Z' }),
  ])

  const since = await logOf(node, logged.run.runId, { since: '2026-11-16T10:00:00Z' })
  const [, second] = await logOf(node, logged.run.runId)
  const after = await node.request('GET', path(logged, `?after=${second?.id}`))

  expect(textsOf(since)).toEqual(['late', 'latest'])
  expect(textsOf(after.body.items)).toEqual(['latest'])
})

test('invalid queries are refused with the parameter', async () => {
  const logged = await aRun()
  const pointers = async (query: string) => {
    const { status, body } = await node.request('GET', path(logged, query))
    return [status, ...body.errors.map(({ pointer }: { pointer: string }) => pointer)]
  }

  expect(await pointers('?after=soon')).toEqual([422, '?after'])
  expect(await pointers('?after=1.2.99999999999')).toEqual([422, '?after'])
  expect(await pointers('?attempt=0')).toEqual([422, '?attempt'])
  expect(await pointers('?limit=1001')).toEqual([422, '?limit'])
  expect(await pointers('?since=yesterday')).toEqual([422, '?since'])
  expect(await pointers('?q=')).toEqual([422, '?q'])
  expect(await pointers('?format=xml')).toEqual([422, '?format'])
})

test('beyond the limit the log and its streams report how much was omitted', async () => {
  const small = await startTestNode(database, { roles: 'api', maxLogBytes: 2_048 })
  const logged = await aRun()
  const source = await follow(logged)

  for (let i = 0; i < 4; i++) await logged.log(i * 10, Array(10).fill(line('x'.repeat(99))), small.url)
  const kept = (await logOf(node, logged.run.runId)).filter(({ omitted }) => omitted === null)
  const lines = await logOf(node, logged.run.runId)
  await logged.end()
  await source.ended

  const whole = kept.filter(({ isPartial }) => !isPartial).length
  expect(lines.at(-1)?.omitted?.lines).toBe(40 - whole)
  expect(lines.at(-1)).toMatchObject({ stream: 'log', level: 'warn' })
  expect(lines.at(-1)?.text).toMatch(new RegExp(`^… ${40 - whole} more lines \\(2\\.\\d KiB\\) omitted`))
  expect(told(source).at(-1)).toBe(lines.at(-1)?.text)
  expect((await textOf(logged)).text).toContain(`… ${40 - whole} more lines`)
})

test('the log of another project, and of a run that does not exist, is not found', async () => {
  const logged = await aRun()
  await logged.log(0, [line('ours')])
  await node.request('POST', '/v1/projects', { name: 'elsewhere' })
  const elsewhere = { 'belfry-project': 'elsewhere' }

  const foreign = await node.request('GET', path(logged), undefined, elsewhere)
  const followed = await follow(logged, { headers: elsewhere })
  const named = await follow(logged, { query: '?project=elsewhere' })
  const unknown = await node.request('GET', '/v1/runs/0198c0de-0000-7000-8000-000000000001/log')

  expect(foreign).toMatchObject({ status: 404, body: { code: 'not_found' } })
  expect(followed.status).toBe(404)
  expect(named.status).toBe(404)
  expect(unknown.status).toBe(404)
})

test('the token of an attempt is valid only for its own log', async () => {
  const [own, others] = [await aRun(), await aRun()]
  const vault = aVault(db)
  await vault.runOnce()
  const { addresses } = ofFiles(vault, steadyClock())
  const { runId, fence, attempt, taskId } = own.run
  const claims = { projectId: DEFAULT_PROJECT_ID, taskId, runId, attempt, fence, workerId: own.worker.id }
  const named = { ...claims, hostId: randomUUID(), podName: 'pod', tracingId: null }
  const token = await issueAttemptToken(addresses, named, Date.now() + 60_000)
  const say = (runs: unknown) =>
    other.request('POST', '/v1/worker/log', { runs }, { authorization: `Bearer ${token}` })
  const lines = [line('by its own token')]

  const allowed = await say([{ runId, fence, first: 0, lines }])
  const refused = await say([{ runId: others.run.runId, fence: others.run.fence, first: 0, lines }])
  const stale = await say([{ runId, fence: fence + 1, first: 1, lines }])

  expect(allowed).toMatchObject({ status: 200, body: { lost: [] } })
  expect(refused).toMatchObject({ status: 403, body: { code: 'forbidden' } })
  expect(stale.status).toBe(403)
  expect(textsOf(await logOf(node, runId))).toEqual(['by its own token'])
  expect(await logOf(node, others.run.runId)).toEqual([])
})

test('only streams count against the limit of streams', async () => {
  const narrow = await startOneNode(database, { roles: 'api', maxStreams: 1 })
  const logged = await aRun()
  const open = await follow(logged, { url: narrow.url })
  await open.next('hello')

  const second = await follow(logged, { url: narrow.url })
  const page = await narrow.request('GET', path(logged))

  expect(second.status).toBe(429)
  expect(page.status).toBe(200)
})

test('many streams share one statement for each poll, and none runs without streams', async () => {
  const logged = await Promise.all([aRun(), aRun(), aRun()])
  const counted = { statements: 0 }
  const feed = new LogFeed(
    {
      run: (statement) => {
        counted.statements++
        return db.run(statement)
      },
    },
    silentLogger(),
  )
  const context = { db, projectId: DEFAULT_PROJECT_ID }
  const runs = await Promise.all(logged.map(({ run }) => findLog(context, run.runId)))
  const signals = Array.from({ length: 10 }, () => new AbortController().signal)
  const idle = counted.statements

  const followers = runs.flatMap((run) =>
    signals.map((signal) => feed.next({ run, after: LOG_START, omitted: null }, 60_000, signal)),
  )
  await eventually(async () => counted.statements >= 2)
  const sent = await Promise.all(logged.map((each) => each.log(0, [line('news')])))
  expect(sent.map(({ body }) => body)).toEqual(Array(3).fill({ lost: [] }))
  const news = await Promise.all(followers)
  const looks = counted.statements

  expect(idle).toBe(0)
  expect(news.map((each) => each?.rows.map(({ text }) => text))).toEqual(Array(30).fill(['news\n']))
  // Thirty who follow three runs would be at least thirty statements, were each asked for alone.
  expect(looks).toBeLessThan(30)
})
