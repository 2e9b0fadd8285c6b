/** Overlap: what becomes of a run that comes due while another run of its task is active. */
import { expect, test } from 'vitest'
import { uuidv7 } from '../../src/core/ids.ts'
import { MAX_QUEUED, type OverlapPolicy } from '../../src/core/task/task.ts'
import { fire, JUST_RUN, type OverlapDecision } from '../../src/store/agenda/fire.ts'
import { fireWithOverlap } from '../../src/store/agenda/fire-with-overlap.ts'
import type { DueRow } from '../../src/store/agenda/look-ahead.ts'
import { endPlainRuns, endRuns } from '../../src/store/agenda/outcomes.ts'
import { tellBefore } from '../../src/store/agenda/superseding.ts'
import { sql } from '../../src/store/database/sql.ts'
import { agendaOf, historyOf } from '../api/rows.ts'
import { aNode, dueRow, ownShards, tasksInAgenda } from '../support/agenda.ts'
import { createTestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { mostAtOnce } from '../support/limits.ts'
import { startTestNode } from '../support/node.ts'

const database = await createTestDatabase()
const { db } = database
const node = await startTestNode(database, { concurrency: 20 })

const create = async (fields: Record<string, unknown>) =>
  (await node.request('POST', '/v1/tasks', fields)).body
const read = async (id: string) => (await node.request('GET', `/v1/tasks/${id}`)).body
const trigger = (id: string) => node.request('POST', `/v1/tasks/${id}/trigger`)
const runs = async (id: string) => (await node.request('GET', `/v1/tasks/${id}/runs`)).body.items

const finished = (id: string) => eventually(async () => (await read(id)).state === 'finished')

test('queue_all runs each occurrence, in order, one after the other', async () => {
  const task = await create({
    schedule: { type: 'every', interval: '100ms' },
    action: { type: 'sleep', duration: '250ms' },
    overlap: 'queue_all',
    maxRuns: 6,
  })
  await finished(task.id)

  const history = await historyOf(db, task.id)
  expect(history.map(({ state }) => state)).toEqual(Array(6).fill('completed'))
  expect(history.map(({ scheduledFor }) => scheduledFor - (history[0]?.scheduledFor ?? 0))).toEqual([
    0, 100, 200, 300, 400, 500,
  ])
  expect(await mostAtOnce(db, [task.id])).toBe(1)
  const started = await db.run(sql<{ ordinal: number }>`
    select ordinal from run where task_id = ${task.id} order by started_at`)
  expect(started.map(({ ordinal }) => ordinal)).toEqual([1, 2, 3, 4, 5, 6])
})

test('queue_one holds the first overlapping run and skips the later ones', async () => {
  const task = await create({
    schedule: { type: 'manual' },
    action: { type: 'sleep', duration: '1500ms' },
    overlap: 'queue_one',
  })
  // Long enough for the request to arrive before it, also on a busy machine.
  const at = Date.now() + 5_000
  const iso = (ms: number) => new Date(ms).toISOString()
  await node.request('PATCH', `/v1/tasks/${task.id}`, {
    schedule: { type: 'every', interval: '200ms', anchor: iso(at) },
    startAt: iso(at),
    endAt: iso(at + 1_100),
  })
  await finished(task.id)

  const history = await historyOf(db, task.id)
  const [first, second, ...rest] = history
  expect([first?.state, second?.state]).toEqual(['completed', 'completed'])
  expect((second?.scheduledFor ?? 0) - (first?.scheduledFor ?? 0)).toBe(200)
  expect(rest.length).toBeGreaterThan(1)
  for (const { state, reason } of rest)
    expect({ state, reason }).toEqual({ state: 'skipped', reason: 'overlap' })
  expect(await mostAtOnce(db, [task.id])).toBe(1)
})

test('cancel_previous ends the earlier run, and the later one starts when it has ended', async () => {
  const task = await create({
    schedule: { type: 'every', interval: '700ms' },
    action: { type: 'sleep', duration: '3s' },
    overlap: 'cancel_previous',
    maxRuns: 3,
  })
  await finished(task.id)

  // On a busy machine the third may come due while the second still waits, and takes its place.
  const [first, second, third] = (await historyOf(db, task.id)).map(({ state }) => state)
  expect([first, third]).toEqual(['cancelled', 'completed'])
  expect(['cancelled', 'skipped']).toContain(second)
  expect(await mostAtOnce(db, [task.id])).toBe(1)
})

test('cancel_previous cancels a run that waits for its retry at once', async () => {
  const task = await create({
    schedule: { type: 'manual' },
    action: { type: 'ping', url: 'http://127.0.0.1:1/' },
    retry: { limit: 5, initial: '1h', max: '1h' },
    overlap: 'cancel_previous',
  })
  const first = (await trigger(task.id)).body
  const retrying = async (id: string) =>
    (await node.request('GET', `/v1/runs/${id}`)).body.state === 'retrying'
  await eventually(async () => retrying(first.id))

  const second = (await trigger(task.id)).body

  await eventually(async () => (await node.request('GET', `/v1/runs/${first.id}`)).body.state === 'cancelled')
  await eventually(async () => retrying(second.id))
})

test('queue_one holds one triggered run and refuses the next trigger', async () => {
  const task = await create({
    schedule: { type: 'manual' },
    action: { type: 'sleep', duration: '10s' },
    overlap: 'queue_one',
  })
  await trigger(task.id)
  await eventually(async () => (await read(task.id)).state === 'running')

  const waiting = await trigger(task.id)
  const refused = await trigger(task.id)

  expect(waiting.status).toBe(201)
  expect(refused).toMatchObject({ status: 409, body: { code: 'run_active', runId: waiting.body.id } })
  expect(refused.body.detail).toMatch(/queue_one, which allows at most 1 waiting run\./)
  await eventually(async () => (await agendaOf(db, task.id)).some(({ state }) => state === 'held'))
  expect(await runs(task.id)).toMatchObject([
    { state: 'pending', startedAt: null },
    { state: 'running', startedAt: expect.any(String) },
  ])
  await node.request('POST', `/v1/tasks/${task.id}/cancel`)
  await eventually(async () => (await agendaOf(db, task.id)).length === 0)
  expect((await historyOf(db, task.id)).map(({ state }) => state)).toEqual(['cancelled', 'cancelled'])
})

test('cancelling a run lets the held run behind it start', async () => {
  const task = await create({
    schedule: { type: 'manual' },
    action: { type: 'sleep', duration: '30s' },
    overlap: 'queue_all',
  })
  const first = (await trigger(task.id)).body
  await eventually(async () => (await read(task.id)).state === 'running')
  const second = (await trigger(task.id)).body

  await node.request('POST', `/v1/runs/${first.id}/cancel`)

  await eventually(async () => (await node.request('GET', `/v1/runs/${second.id}`)).body.state === 'running')
  await node.request('POST', `/v1/tasks/${task.id}/cancel`)
  await eventually(async () => (await agendaOf(db, task.id)).length === 0)
  expect(await mostAtOnce(db, [task.id])).toBe(1)
})

/** What follows looks at single statements: no scheduler owns the shards of this database. */
const still = await createTestDatabase()
const nodeId = await aNode(still.db, ['scheduler', 'worker'])
const shards = await ownShards(still.db, nodeId)

const under = (policy: OverlapPolicy, changes: Partial<OverlapDecision> = {}): OverlapDecision => ({
  places: policy === 'queue_one' ? 1 : MAX_QUEUED,
  beyond: policy === 'queue_all' ? 'overlap_limit' : 'overlap',
  supersedes: policy === 'cancel_previous',
  deferUntil: null,
  ...changes,
})

async function fireOne(row: DueRow, overlap: OverlapDecision) {
  const decision = { ...JUST_RUN, exclusive: true, overlap }
  const request = { nodeId, shards, workerId: nodeId, firings: [{ row, decision, startNow: true }] }
  const [result] = await still.db.run(fireWithOverlap(request))
  return result
}

/** Another row of the same task, due a little later. */
async function another(
  taskId: string,
  kind: 'occurrence' | 'catchup' = 'occurrence',
  afterMs = 1,
): Promise<DueRow> {
  const runId = uuidv7()
  await still.db.run(sql`
    insert into agenda (run_id, task_id, project_id, shard, wake_at, scheduled_for, version, ordinal, kind)
    select ${runId}, task_id, project_id, shard, wake_at, max_at + ${afterMs}::integer * interval '1 millisecond', version, ordinal, ${kind}::agenda_kind
    from (select *, max(scheduled_for) over () as max_at from agenda where task_id = ${taskId}) rows limit 1`)
  return dueRow(still.db, runId)
}

const stateOf = async (runId: string) =>
  (
    await still.db.run(
      sql<{ state: string; awaited: boolean; wakeInMs: number }>`
        select state, awaited, (extract(epoch from wake_at - clock_timestamp()) * 1000)::float8 as "wakeInMs" from agenda where run_id = ${runId}`,
    )
  )[0]

async function aBusyTask() {
  const [task] = await tasksInAgenda(still.db)
  const first = await dueRow(still.db, task?.runId as string)
  await fireOne(first, under('queue_all'))
  return { taskId: first.taskId, first }
}

const ending = (runId: string, fence: number) => ({
  runId,
  fence,
  state: 'completed' as const,
  outcome: 'completed' as const,
  startedAt: Date.now(),
  endedAt: Date.now(),
  output: null,
  error: null,
  nextRunId: null,
})

test('the end of a run wakes only the first held run of its task', async () => {
  const { taskId, first } = await aBusyTask()
  const [second, third] = [await another(taskId), await another(taskId)]
  await fireOne(second, under('queue_all'))
  await fireOne(third, under('queue_all'))
  expect(await stateOf(first.runId)).toMatchObject({ state: 'running', awaited: true })

  expect(await still.db.run(endPlainRuns([ending(first.runId, 1)]))).toEqual([{ left: [first.runId] }])
  const [result] = await still.db.run(endRuns([ending(first.runId, 1)]))

  expect(result?.following).toMatchObject([{ shard: first.shard }])
  const woken = await stateOf(second.runId)
  expect(woken?.state).toBe('held')
  expect(woken?.wakeInMs).toBeLessThanOrEqual(0)
  expect((await stateOf(third.runId))?.wakeInMs).toBeGreaterThan(0)
})

test('a held run starts before a run that comes due later, whichever is checked first', async () => {
  const { taskId, first } = await aBusyTask()
  const [second, third] = [await another(taskId), await another(taskId)]
  await fireOne(second, under('queue_all'))
  await still.db.run(endRuns([ending(first.runId, 1)]))

  await fireOne(third, under('queue_all'))
  expect((await stateOf(third.runId))?.state).toBe('held')
  await fireOne(await dueRow(still.db, second.runId), under('queue_all'))

  expect(await stateOf(second.runId)).toMatchObject({ state: 'running', awaited: true })
})

test('a held run is checked again without a wake-up, and stays held', async () => {
  const { taskId } = await aBusyTask()
  const second = await another(taskId)
  await fireOne(second, under('queue_one'))
  expect((await stateOf(second.runId))?.wakeInMs).toBeLessThanOrEqual(1_000)

  const result = await fireOne(await dueRow(still.db, second.runId), under('queue_one'))

  expect(result?.held).toMatchObject([{ runId: second.runId }])
  expect((await stateOf(second.runId))?.state).toBe('held')
})

test('queue_one holds only one run, even if a run with an earlier due time arrives late', async () => {
  const { taskId } = await aBusyTask()
  const [late, waiting] = [await another(taskId), await another(taskId)]
  await fireOne(waiting, under('queue_one'))

  const result = await fireOne(late, under('queue_one'))

  expect(result?.blocked).toEqual([late.runId])
  expect(await stateOf(waiting.runId)).toMatchObject({ state: 'held' })
  expect(await historyOf(still.db, taskId)).toMatchObject([{ state: 'skipped', reason: 'overlap' }])
})

test('queue_all skips runs beyond its limit with the reason overlap_limit', async () => {
  const { taskId } = await aBusyTask()
  for (let i = 0; i < MAX_QUEUED; i++) await another(taskId)
  await still.db.run(sql`update agenda set state = 'held' where task_id = ${taskId} and state = 'scheduled'`)
  const beyond = await another(taskId)

  const result = await fireOne(beyond, under('queue_all'))

  expect(result?.blocked).toEqual([beyond.runId])
  expect(await historyOf(still.db, taskId)).toMatchObject([{ state: 'skipped', reason: 'overlap_limit' }])
})

test.each([
  ['skip', 0],
  ['queue_one', 0],
] as const)(
  'under %s the latest missed occurrence is also recorded when another run blocks it',
  async (policy, places) => {
    const { taskId } = await aBusyTask()
    const row = await another(taskId)
    const at = (n: number) => row.scheduledFor + n * 60_000
    const decision = {
      ...JUST_RUN,
      exclusive: true,
      overlap: policy === 'skip' ? null : under(policy, { places }),
      skip: { runId: uuidv7(), reason: 'misfire' as const, until: at(3), count: 4 },
      runFor: at(4),
      next: { runId: uuidv7(), at: at(5) },
    }
    const request = { nodeId, shards, workerId: null, firings: [{ row, decision, startNow: false }] }

    const [result] = await still.db.run(policy === 'skip' ? fire(request) : fireWithOverlap(request))

    expect(result?.blocked).toEqual([row.runId])
    expect(await historyOf(still.db, taskId)).toMatchObject([
      { reason: 'misfire', scheduledFor: row.scheduledFor, until: at(3), count: 4 },
      { reason: 'overlap', scheduledFor: at(4), until: null, count: null },
    ])
    expect((await agendaOf(still.db, taskId)).at(-1)).toMatchObject({
      scheduledFor: at(5),
      ordinal: row.ordinal,
    })
  },
)

test('cancel_previous replaces a held run with the latest one', async () => {
  const { taskId } = await aBusyTask()
  const [second, third] = [await another(taskId), await another(taskId)]
  await fireOne(second, under('cancel_previous'))

  await fireOne(third, under('cancel_previous'))

  expect((await stateOf(third.runId))?.state).toBe('held')
  expect(await stateOf(second.runId)).toBeUndefined()
  expect(await historyOf(still.db, taskId)).toMatchObject([
    { state: 'skipped', reason: 'overlap', scheduledFor: second.scheduledFor },
  ])
})

test('runs of several tasks are asked to stop for their held successors, unless their row is locked', async () => {
  const busy = [await aBusyTask(), await aBusyTask(), await aBusyTask(), await aBusyTask()]
  const held = await Promise.all(busy.map(({ taskId }) => another(taskId)))
  for (const row of held) await fireOne(row, under('cancel_previous'))
  const [told, waiting, moving, over] = busy.map(({ first }) => first.runId)
  await still.db.run(
    sql`update agenda set state = 'retrying', worker_id = null where run_id = ${waiting as string}`,
  )
  await still.db.run(sql`update agenda set state = 'scheduled' where run_id = ${held[3]?.runId as string}`)

  const result = await still.db.transaction(async (tx) => {
    await tx.run(sql`select from agenda where run_id = ${moving as string} for update`)
    return still.db.run(tellBefore(held))
  })

  expect(result).toEqual([{ count: 1, left: [held[1]?.runId] }])
  const stopped = await still.db.run(sql<{ runId: string }>`
    select run_id as "runId" from agenda where run_id = any(${[told, waiting, moving, over] as string[]}::uuid[]) and cancel_at is not null`)
  expect(stopped).toEqual([{ runId: told }])
  expect(await still.db.run(tellBefore(held))).toEqual([{ count: 1, left: [held[1]?.runId] }])
})

test('a pending catch-up run becomes held when a run of its task on time starts', async () => {
  const [task] = await tasksInAgenda(still.db)
  const onTime = await dueRow(still.db, task?.runId as string)
  const late = await another(onTime.taskId, 'catchup', -60_000)
  const asked = { nodeId, shards, workerId: null }
  const decision = { ...JUST_RUN, exclusive: true, overlap: under('skip') }
  await still.db.run(fireWithOverlap({ ...asked, firings: [{ row: late, decision, startNow: false }] }))
  expect((await stateOf(late.runId))?.state).toBe('pending')

  await fireOne(onTime, under('skip', { places: 0 }))

  expect(await stateOf(onTime.runId)).toMatchObject({ state: 'running', awaited: true })
  expect((await stateOf(late.runId))?.state).toBe('held')
  const ready = await still.db.run(sql<{ count: number }>`
    select count(*)::integer as count from ready where run_id = ${late.runId}`)
  expect(ready).toEqual([{ count: 0 }])
})

test('a fire concurrent with the end of the previous run strands no run, and neither blocks the other', async () => {
  const { taskId, first } = await aBusyTask()
  const second = await another(taskId)

  await Promise.all([still.db.run(endRuns([ending(first.runId, 1)])), fireOne(second, under('queue_all'))])

  const row = await stateOf(second.runId)
  expect(['running', 'held']).toContain(row?.state)
  if (row?.state === 'held') expect(row.wakeInMs).toBeLessThanOrEqual(1_000)
})
