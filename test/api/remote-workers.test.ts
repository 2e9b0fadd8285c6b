/** The protocol of workers of the users' own, spoken by hand against real nodes. */
import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { Reaper } from '../../src/liveness/reaper.ts'
import { silentLogger } from '../../src/runtime/logger.ts'
import { sql } from '../../src/store/sql.ts'
import { LocalWakeUps } from '../../src/transport/wake-ups.ts'
import { createTestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { startTestNode } from '../support/node.ts'
import { aWorker, type GivenRun } from '../support/remote-worker.ts'

const database = await createTestDatabase()
const { db } = database
/** Workers that are spoken by hand beat only where a test says so; none is dead because a test takes long. */
const PATIENT = { leaseMs: 600_000 }
const node = await startTestNode(database, PATIENT)
const other = await startTestNode(database, { ...PATIENT, roles: 'api' })

let names = 0
const aName = () => `handler-${++names}`

const create = async (name: string, fields: Record<string, unknown> = {}, payload: unknown = null) => {
  const action = { type: 'handler', name, payload }
  const { status, body } = await node.request('POST', '/v1/tasks', { action, ...fields })
  expect(status).toBe(201)
  return body.id as string
}
const createMany = async (name: string, count: number, fields: Record<string, unknown> = {}) => {
  const tasks = Array.from({ length: count }, (_, n) => ({
    action: { type: 'handler', name, payload: { n } },
    ...fields,
  }))
  const { status } = await node.request('POST', '/v1/tasks/bulk', { tasks })
  expect(status).toBe(201)
}
const runOf = async ({ runId }: Pick<GivenRun, 'runId'>) =>
  (await node.request('GET', `/v1/runs/${runId}`)).body
const held = ({ runId, fence }: GivenRun) => ({ runId, fence })
const completed = (run: GivenRun, more: Record<string, unknown> = {}) => ({
  ...held(run),
  outcome: 'completed',
  ...more,
})
const isPending = (taskId: string) =>
  eventually(async () => {
    const { body } = await node.request('GET', `/v1/tasks/${taskId}`)
    return body.openRun?.state === 'pending'
  })
const bury = async (workerId: string) => {
  await db.run(sql`update node set dead_at = now(), reason = 'lost' where id = ${workerId}`)
  const options = { nodeId: randomUUID(), everyMs: 1_000, deadAfterMs: 60_000, batch: 1_000 }
  const clock = { now: () => Date.now() }
  await new Reaper({ ...options, db, clock, wakeUps: new LocalWakeUps(), log: silentLogger() }).runOnce()
}

test('a run of a handler waits for a worker that offers it, and no worker of ours takes it', async () => {
  const name = aName()
  const taskId = await create(name, {}, { url: 'x', size: [1, 2] })
  await isPending(taskId)
  const stranger = await aWorker(node.url, { handlers: [aName()] })
  expect(await stranger.claim(10, { waitMs: 0 })).toEqual([])

  const worker = await aWorker(node.url, { handlers: [name, aName()], concurrency: 5 })
  const [run, ...more] = await worker.claim(10)

  expect(more).toEqual([])
  expect(run).toMatchObject({ taskId, handler: name, payload: { url: 'x', size: [1, 2] }, attempt: 1 })
  expect(run).toMatchObject({ timeoutMs: 20 * 60_000 })
  expect(await runOf(run as GivenRun)).toMatchObject({ state: 'running', workerId: worker.id })
})

test('a claim that waits is answered as soon as there is something, also through another node', async () => {
  const name = aName()
  const worker = await aWorker(node.url, { handlers: [name] })
  const claiming = worker.claim(10, { waitMs: 30_000, url: other.url })
  await eventually(async () => {
    const [row] = await db.run(sql<{ count: number }>`select count(*)::integer as count from remote_worker`)
    return (row?.count ?? 0) > 0
  })

  const startedAt = performance.now()
  const taskId = await create(name)
  const runs = await claiming

  expect(runs).toMatchObject([{ taskId }])
  expect(performance.now() - startedAt).toBeLessThan(28_000)
  expect(Date.now()).toBeGreaterThanOrEqual(Date.parse(runs[0]?.scheduledFor ?? ''))
})

test('a claim takes no more than it asks for, and a batch is completed at once', async () => {
  const name = aName()
  await createMany(name, 30)
  const worker = await aWorker(node.url, { handlers: [name] })
  const runs: GivenRun[] = []
  while (runs.length < 30) {
    const some = await worker.claim(7)
    expect(some.length).toBeLessThanOrEqual(7)
    runs.push(...some)
  }

  const { status, body } = await worker.say('complete', {
    runs: runs.map((run) => completed(run, { result: { doubled: run.payload } })),
  })

  expect(status).toBe(200)
  expect(body.runs.every(({ recorded }: { recorded: boolean }) => recorded)).toBe(true)
  const run = await runOf(runs[3] as GivenRun)
  expect(run).toMatchObject({ state: 'completed', workerId: worker.id })
  expect(run.output).toEqual({ result: { doubled: runs[3]?.payload } })
})

test('a claim whose answer was lost is answered again with the same runs, by any node', async () => {
  const name = aName()
  await createMany(name, 5)
  const worker = await aWorker(node.url, { handlers: [name] })
  const requestId = randomUUID()
  const first = await worker.claim(3, { requestId })

  const again = await worker.claim(3, { requestId, url: other.url })

  expect(again.map(held)).toEqual(expect.arrayContaining(first.map(held)))
  expect(again).toHaveLength(first.length)
  const next = await worker.claim(10)
  expect(next.map(({ runId }) => runId)).not.toEqual(
    expect.arrayContaining(first.slice(0, 1).map(({ runId }) => runId)),
  )
})

test('the same claim waiting at two nodes takes runs once', async () => {
  const name = aName()
  const worker = await aWorker(node.url, { handlers: [name] })
  const requestId = randomUUID()
  const both = [node.url, other.url].map((url) => worker.claim(1, { requestId, url, waitMs: 3_000 }))
  await createMany(name, 2)

  const [one = [], two = []] = await Promise.all(both)

  expect(new Set([...one, ...two].map(({ runId }) => runId)).size).toBe(1)
})

test('a report counts once, however often it is repeated, and is acknowledged each time', async () => {
  const name = aName()
  await createMany(name, 2, { retry: { limit: 3, initial: '1h', max: '1h' } })
  const worker = await aWorker(node.url, { handlers: [name] })
  const runs: GivenRun[] = []
  while (runs.length < 2) runs.push(...(await worker.claim(2 - runs.length)))
  const [good, bad] = runs as [GivenRun, GivenRun]
  const report = {
    runs: [completed(good), { ...held(bad), outcome: 'failed', error: { message: 'no such file' } }],
  }

  const answers = await Promise.all([
    worker.say('complete', report),
    worker.say('complete', report),
    worker.say('complete', report, other.url),
  ])
  const late = await worker.say('complete', report, other.url)

  for (const { body } of [...answers, late])
    expect(body.runs.map(({ recorded }: { recorded: boolean }) => recorded)).toEqual([true, true])
  expect(await runOf(good)).toMatchObject({ state: 'completed', attempt: 1 })
  expect(await runOf(bad)).toMatchObject({
    state: 'retrying',
    attempts: [{ number: 1, outcome: 'failed', error: { code: 'handler_failed', message: 'no such file' } }],
  })
})

test('a worker says when to try again, or that there is no use in it', async () => {
  const name = aName()
  await createMany(name, 4)
  const worker = await aWorker(node.url, { handlers: [name] })
  const runs: GivenRun[] = []
  while (runs.length < 4) runs.push(...(await worker.claim(4 - runs.length)))
  const [later, never, far, soon] = runs as [GivenRun, GivenRun, GivenRun, GivenRun]
  const retryAt = new Date(Date.now() + 5 * 86_400_000).toISOString()
  const failed = { outcome: 'failed', error: { message: 'not now', code: 'quota', stack: 'at x' } }

  await worker.say('complete', {
    runs: [
      { ...held(later), ...failed, retryAt },
      { ...held(never), ...failed, retryable: false },
      { ...held(far), ...failed, retryAt: '9000-01-01T00:00:00Z' },
      { ...held(soon), ...failed, retryInMs: 3_600_000 },
    ],
  })

  expect(await runOf(later)).toMatchObject({ state: 'retrying', retryAt })
  const inDays = async (run: GivenRun) => (Date.parse((await runOf(run)).retryAt) - Date.now()) / 86_400_000
  expect(await inDays(far)).toBeCloseTo(30, 1)
  expect(await inDays(soon)).toBeCloseTo(1 / 24, 1)
  expect(await runOf(never)).toMatchObject({
    state: 'permanently_failed',
    error: { code: 'quota', message: 'not now', detail: { stack: 'at x' } },
  })
})

test('a report that comes too late by the blink of an eye is told so', async () => {
  const name = aName()
  await create(name)
  const worker = await aWorker(node.url, { handlers: [name] })
  const [run] = (await worker.claim(1)) as [GivenRun]

  const told = await db.transaction(async (tx) => {
    await tx.run(sql`update agenda set fence = fence + 1 where run_id = ${run.runId}`)
    const reported = worker.say('complete', { runs: [{ ...held(run), outcome: 'completed' }] })
    await eventually(async () => {
      const waiting = await db.run(
        sql`select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
      )
      return waiting.length > 0
    })
    return { reported }
  })

  expect((await told.reported).body).toEqual({ runs: [{ ...held(run), recorded: false }] })
})

test('what is said about a run by whoever does not hold it changes nothing', async () => {
  const name = aName()
  await create(name)
  const worker = await aWorker(node.url, { handlers: [name] })
  const [run] = (await worker.claim(1)) as [GivenRun]
  const stranger = await aWorker(node.url, { handlers: [name] })

  const foreign = await stranger.say('complete', { runs: [completed(run)] })
  const stale = await worker.say('complete', { runs: [{ ...completed(run), fence: run.fence + 1 }] })
  await stranger.say('return', { runs: [held(run)] })
  const beat = await stranger.say('heartbeat', { runs: [held(run)] })

  expect(foreign.body.runs).toEqual([{ ...held(run), recorded: false }])
  expect(stale.body.runs).toMatchObject([{ recorded: false }])
  expect(beat.body).toEqual({ cancelled: [], lost: [run.runId] })
  expect(await runOf(run)).toMatchObject({ state: 'running', workerId: worker.id, fence: run.fence })
})

test('a heartbeat tells of cancellations, and a late completion does not undo one', async () => {
  const name = aName()
  await create(name)
  const worker = await aWorker(node.url, { handlers: [name] })
  const [run] = (await worker.claim(1)) as [GivenRun]
  await node.request('POST', `/v1/runs/${run.runId}/cancel`)

  const { body } = await worker.say('heartbeat', { runs: [held(run)] }, other.url)
  await worker.say('complete', { runs: [completed(run, { result: 'too late' })] })

  expect(body).toEqual({ cancelled: [run.runId], lost: [] })
  expect(await runOf(run)).toMatchObject({ state: 'cancelled', attempts: [{ outcome: 'completed' }] })
})

test('progress is shown while the run goes on, and a log is kept with the attempt', async () => {
  const name = aName()
  await create(name)
  const worker = await aWorker(node.url, { handlers: [name] })
  const [run] = (await worker.claim(1)) as [GivenRun]

  await worker.say('heartbeat', { runs: [{ ...held(run), progress: { fraction: 0.5, message: 'half' } }] })
  expect(await runOf(run)).toMatchObject({ progress: { fraction: 0.5, message: 'half' } })

  const at = '2026-11-16T09:00:00.000Z'
  const log = Array.from({ length: 600 }, (_, i) => ({ at, level: 'info', message: `line ${i}` }))
  await worker.say('complete', { runs: [completed(run, { result: 'x'.repeat(70_000), log })] })
  const ended = await runOf(run)
  expect(ended).toMatchObject({ state: 'completed', progress: null })
  expect(ended.output).toMatchObject({ result: null, logLinesOmitted: 100 })
  expect(ended.output.resultOmitted).toContain('70002 characters')
  expect(ended.output.log).toHaveLength(500)
  expect(ended.output.log[7]).toEqual({ at, level: 'info', message: 'line 7' })
})

test("a dead worker's runs are given to others with a loss, and it is told to register again", async () => {
  const name = aName()
  const taskId = await create(name)
  const worker = await aWorker(node.url, { handlers: [name] })
  const [run] = (await worker.claim(1)) as [GivenRun]

  await bury(worker.id)

  const heir = await aWorker(node.url, { handlers: [name] })
  const [again] = (await heir.claim(1)) as [GivenRun]
  expect(again).toMatchObject({ runId: run.runId, attempt: 2 })
  expect(again.fence).toBeGreaterThan(run.fence)
  for (const [what, body] of [
    ['heartbeat', {}],
    ['claim', { requestId: randomUUID(), limit: 1 }],
  ] as const)
    expect(await worker.say(what, body)).toMatchObject({ status: 410, body: { code: 'worker_gone' } })
  const late = await worker.say('complete', { runs: [completed(run)] })
  expect(late.body.runs).toEqual([{ ...held(run), recorded: false }])
  await heir.say('complete', { runs: [completed(again)] })
  expect(await runOf(again)).toMatchObject({ taskId, state: 'completed', losses: 1, workerId: heir.id })
})

test('with onWorkerLoss fail a run is given to nobody else', async () => {
  const name = aName()
  await createMany(name, 2, { onWorkerLoss: 'fail' })
  const worker = await aWorker(node.url, { handlers: [name] })
  const runs: GivenRun[] = []
  while (runs.length < 2) runs.push(...(await worker.claim(2 - runs.length)))
  const [unsure, dying] = runs as [GivenRun, GivenRun]

  await worker.say('complete', { runs: [{ ...held(unsure), outcome: 'lost' }] })
  await bury(worker.id)

  for (const run of [unsure, dying])
    expect(await runOf(run)).toMatchObject({
      state: 'permanently_failed',
      attempt: 1,
      error: { code: 'worker_lost' },
    })
})

test('an attempt that a worker cannot vouch for is a loss, and the run is given out again', async () => {
  const name = aName()
  await create(name)
  const worker = await aWorker(node.url, { handlers: [name] })
  const [run] = (await worker.claim(1)) as [GivenRun]

  await worker.say('complete', { runs: [{ ...held(run), outcome: 'lost' }] })

  const [again] = (await worker.claim(1)) as [GivenRun]
  expect(again).toMatchObject({ runId: run.runId, attempt: 2 })
  expect(await runOf(run)).toMatchObject({ losses: 1, attempts: [{ outcome: 'worker_lost' }] })
})

test('a worker that leaves gives back what it did not begin, also what it never heard of', async () => {
  const name = aName()
  await createMany(name, 2)
  const worker = await aWorker(node.url, { handlers: [name] })
  const [known] = (await worker.claim(1)) as [GivenRun]
  await worker.say('return', { runs: [held(known)] })
  // The answer to this claim counts as lost.
  await worker.claim(2)

  expect(await worker.say('stop')).toMatchObject({ status: 200 })

  const heir = await aWorker(node.url, { handlers: [name] })
  const runs: GivenRun[] = []
  while (runs.length < 2) runs.push(...(await heir.claim(2 - runs.length)))
  expect(runs.map(({ attempt }) => attempt)).toEqual([1, 1])
  expect(await worker.say('claim', { requestId: randomUUID(), limit: 1 })).toMatchObject({ status: 410 })
  const { body } = await node.request('GET', '/v1/workers')
  expect(body.items.find(({ id }: { id: string }) => id === worker.id)).toMatchObject({
    state: 'dead',
    reason: 'stopped',
    busy: { count: 0 },
  })
})

test('labels and queues are kept to, and so are limits of queues and keys', async () => {
  const name = aName()
  const queue = `only-${name}`
  await node.request('PATCH', `/v1/queues/${queue}`, { concurrencyLimit: 3 })
  await createMany(name, 5, { queue })
  await createMany(name, 3, { queue: `else-${name}`, concurrencyKey: name, concurrencyLimit: 2 })
  await create(name, { labels: ['gpu'] })
  const bound = await aWorker(node.url, { handlers: [name], queues: [queue] })
  const free = await aWorker(node.url, { handlers: [name], labels: ['gpu', 'eu'] })
  const all = async (worker: typeof bound, count: number) => {
    const runs: GivenRun[] = []
    while (runs.length < count) runs.push(...(await worker.claim(20)))
    return runs
  }

  const narrow = await all(bound, 3)
  expect(await bound.claim(20, { waitMs: 300 })).toEqual([])
  await all(free, 3)
  expect(await free.claim(20, { waitMs: 300 })).toEqual([])

  await bound.say('complete', { runs: narrow.slice(0, 1).map((run) => completed(run)) })
  expect(await bound.claim(20)).toHaveLength(1)
})

test('a hundred workers wait at two nodes, and all of them find work', async () => {
  const name = aName()
  const workers = await Promise.all(
    Array.from({ length: 100 }, () => aWorker(node.url, { handlers: [name] })),
  )
  const claims = workers.map((worker, i) =>
    worker.claim(1, { waitMs: 30_000, url: i % 2 === 0 ? node.url : other.url }),
  )

  await createMany(name, 100)

  const given = (await Promise.all(claims)).flat()
  expect(new Set(given.map(({ runId }) => runId)).size).toBe(100)
})

test('workers are listed with what they offer', async () => {
  const name = aName()
  const worker = await aWorker(node.url, {
    handlers: [name],
    name: 'images/7',
    version: '1.2.3',
    labels: ['gpu'],
    concurrency: 7,
  })

  const { body } = await other.request('GET', '/v1/workers')

  expect(body.items.find(({ id }: { id: string }) => id === worker.id)).toMatchObject({
    name: 'images/7',
    version: '1.2.3',
    roles: ['remote'],
    state: 'alive',
    concurrency: 7,
    shards: 0,
    offers: { handlers: [name], labels: ['gpu'], queues: null },
  })
})

test.each([
  ['no token', undefined],
  ['another scheme', 'Basic abc'],
  ['a token that is none', 'Bearer abc'],
  ['a token of nobody', `Bearer ${randomUUID()}.${'A'.repeat(43)}`],
])('a request with %s is refused', async (_, authorization) => {
  for (const what of ['claim', 'heartbeat', 'complete', 'return', 'stop']) {
    const run = { runId: randomUUID(), fence: 1 }
    const bodies: Record<string, unknown> = {
      claim: { requestId: randomUUID(), limit: 1 },
      complete: { runs: [{ ...run, outcome: 'completed' }] },
      return: { runs: [run] },
    }
    const headers = authorization === undefined ? {} : { authorization }
    const answer = await node.request('POST', `/v1/worker/${what}`, bodies[what], headers)
    expect(answer).toMatchObject({ status: 401, body: { code: 'unknown_token' } })
  }
})

test('a token with the right id and a wrong secret is refused', async () => {
  const worker = await aWorker(node.url, { handlers: [aName()] })
  const forged = `${worker.id}.${'A'.repeat(43)}`

  const answer = await node.request('POST', '/v1/worker/heartbeat', undefined, {
    authorization: `Bearer ${forged}`,
  })

  expect(answer.status).toBe(401)
  const [row] = await db.run(
    sql<{ hash: Buffer }>`select token_hash as hash from remote_worker where id = ${worker.id}`,
  )
  expect(row?.hash.toString('utf8')).not.toContain(worker.token)
})

test('a node that stops answers those who wait at once', async () => {
  const third = await startTestNode(database, { roles: 'api' })
  const worker = await aWorker(node.url, { handlers: [aName()] })
  const waiting = worker.claim(1, { waitMs: 30_000, url: third.url }).catch(() => [])
  await eventually(async () => (await third.request('GET', '/healthz')).status === 200)

  const startedAt = performance.now()
  await third.stop()
  const runs = await waiting

  expect(runs).toEqual([])
  expect(performance.now() - startedAt).toBeLessThan(28_000)
})
