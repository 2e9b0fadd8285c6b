/** Lanes that runs wait in and that are not registered, over real tables. */
import { expect, test } from 'vitest'
import { aDefinition, tasksInAgenda } from '../../test/support/agenda.ts'
import { createTestDatabase } from '../../test/support/database.ts'
import { planOf } from '../../test/support/plan.ts'
import { catchUpLaneOf, laneOf, sideLaneOf } from '../core/run/lane.ts'
import type { TaskDefinition } from '../core/task/task.ts'
import { DEFAULT_PROJECT_ID as projectId } from '../core/values/default-project.ts'
import { sql } from '../store/database/sql.ts'
import { lookForLostLanes } from '../store/queues/lost-lanes.ts'
import { registerLanes } from '../store/queues/queues.ts'
import { registerSideLanes, removeSideLanes } from '../store/queues/side-lanes.ts'
import { insertOverride } from '../store/tasks/run-overrides.ts'
import { silentLogger } from '../telemetry/logger.ts'
import { PostgresTransport } from '../transport/postgres/postgres-transport.ts'
import { LocalWakeUps } from '../transport/wake-ups.ts'
import { LaneRepair } from './lane-repair.ts'

const { db } = await createTestDatabase()
const repair = new LaneRepair({
  db,
  transport: new PostgresTransport(db),
  wakeUps: new LocalWakeUps(),
  log: silentLogger(),
})

/** A run that waits in a lane, whether that is registered or not. */
async function aWaitingRun(definition: Partial<TaskDefinition>, lane?: number) {
  const [task] = await tasksInAgenda(db, { definition })
  const { taskId = '', runId = '' } = task ?? {}
  await wait(runId, lane)
  return { taskId, runId }
}

const wait = (runId: string, lane: number | null = null) =>
  db.run(sql`
    with pending as (
      update agenda set state = 'pending', lane = coalesce(${lane}::bigint, lane) where run_id = ${runId} returning lane, priority, wake_at, run_id
    )
    insert into ready (lane, priority, wake_at, run_id) select lane, priority, wake_at, run_id from pending`)

const idOf = (definition: Partial<TaskDefinition>) => laneOf(projectId, aDefinition(definition)).id
const laneWith = async (id: number) => {
  const [lane] = await db.run(sql`
    select queue, labels, handler, strict, catchup from lane where id = ${id}
    union all
    select queue, labels, handler, null, null from gate where id = ${id}`)
  return lane
}

test.each<[string, Partial<TaskDefinition>, object]>([
  ['queue', { queue: 'reports' }, { queue: 'reports', strict: false, catchup: false }],
  ['queue with labels', { queue: 'labelled', labels: ['gpu', 'arm'] }, { labels: ['arm', 'gpu'] }],
  ['run that happens at most once', { queue: 'once', onWorkerLoss: 'fail' }, { queue: 'once', strict: true }],
  [
    'handler',
    { queue: 'handled', action: { type: 'handler', name: 'resize', payload: null } },
    { handler: 'resize', strict: true },
  ],
])('a lost lane of a %s is registered again', async (_, definition, expected) => {
  await aWaitingRun(definition)

  await repair.runOnce()

  expect(await laneWith(idOf(definition))).toMatchObject(expected)
})

test('the lost lane of a concurrency key is registered with its slots, and an existing gate is kept', async () => {
  const there = aDefinition({ queue: 'keyed', concurrencyKey: 'there', concurrencyLimit: 7 })
  await db.run(registerLanes([laneOf(projectId, there)]))
  await aWaitingRun({ queue: 'keyed', concurrencyKey: 'there', concurrencyLimit: 2 })
  await aWaitingRun({ queue: 'keyed', concurrencyKey: 'gone', concurrencyLimit: 3 })

  await repair.runOnce()

  expect(
    await db.run(sql`select key, places, held from gate where queue = 'keyed' order by key nulls first`),
  ).toEqual([
    { key: null, places: null, held: 0 },
    { key: 'gone', places: 3, held: 0 },
    { key: 'there', places: 7, held: 0 },
  ])
})

test('the lost lane of catch-up runs is registered again', async () => {
  const lane = catchUpLaneOf(idOf({ queue: 'nightly' }))
  await aWaitingRun({ queue: 'nightly' }, lane)

  await repair.runOnce()

  expect(await laneWith(lane)).toMatchObject({ queue: 'nightly', catchup: true })
})

test('the lost lane that the override of a run names is registered again', async () => {
  const [task] = await tasksInAgenda(db, { definition: { queue: 'own' } })
  const runId = task?.runId ?? ''
  await db.run(insertOverride({ runId, override: { queue: 'other' } }))
  await wait(runId, idOf({ queue: 'other' }))

  await repair.runOnce()

  expect(await laneWith(idOf({ queue: 'other' }))).toMatchObject({ queue: 'other' })
  expect(await laneWith(idOf({ queue: 'own' }))).toBeUndefined()
})

test('the lost lane of an earlier version of a task is registered again', async () => {
  const { taskId } = await aWaitingRun({ queue: 'before' })
  await db.run(sql`
    with old as (insert into task_version (task_id, version, definition) select id, version, definition from task where id = ${taskId})
    update task set version = 2, definition = jsonb_set(definition::jsonb, '{queue}', '"after"')::json where id = ${taskId}`)

  await repair.runOnce()

  expect(await laneWith(idOf({ queue: 'before' }))).toMatchObject({ queue: 'before' })
})

test('lanes beyond the limit of one pass are checked in the next', async () => {
  const small = await db.run(lookForLostLanes({ after: -1, limit: 2 }))
  const [first] = small

  expect(first?.last).toEqual(expect.any(Number))
  expect(await db.run(lookForLostLanes({ after: first?.last ?? 0, limit: 1_000 }))).toEqual([
    { last: null, lost: [] },
  ])
})

test('a check reads one row per lane, even with 100 000 rows in ready', async () => {
  await db.run(sql`
    insert into ready (lane, priority, wake_at, run_id) select 0, 0, now(), gen_random_uuid() from generate_series(1, 100000)`)
  await db.run(sql`analyze ready`)
  const [occupied] = await db.run(
    sql<{ lanes: number }>`select count(distinct lane)::integer as lanes from ready`,
  )

  const plan = await planOf(db, lookForLostLanes({ after: -1, limit: 5_000 }))

  expect(plan.tablesRead).not.toContain('ready')
  expect(plan.rows).toBeLessThan(10 * (occupied?.lanes ?? 0))
})

test('runs in a lost side lane move back to their own lane, and runs in an existing one stay', async () => {
  const lane = idOf({})
  const [gone, there] = [sideLaneOf(lane, 'https://gone.example'), sideLaneOf(lane, 'https://there.example')]
  const { runId } = await aWaitingRun({})
  const { runId: other } = await aWaitingRun({})
  await db.run(registerSideLanes([there]))
  for (const [id, side] of [
    [runId, gone.id],
    [other, there.id],
  ] as const)
    await db.run(sql`
      with moved as (update agenda set side = ${side} where run_id = ${id})
      update ready set lane = ${side} where run_id = ${id}`)

  await repair.runOnce()

  const rows = await db.run(sql<{ runId: string; lane: number; side: number | null }>`
    select r.run_id as "runId", r.lane, a.side from ready r join agenda a on a.run_id = r.run_id
    where r.run_id in (${runId}, ${other}) order by r.run_id`)
  expect(rows).toEqual([
    { runId, lane, side: null },
    { runId: other, lane: there.id, side: there.id },
  ])
})

test('a side lane is removed after it was empty and unused for a long time', async () => {
  const lane = idOf({})
  const sides = ['used', 'occupied', 'unused'].map((name) => sideLaneOf(lane, `https://${name}.example`))
  const [used, occupied, unused] = sides
  await db.run(registerSideLanes(sides))
  const { runId } = await aWaitingRun({})
  await db.run(sql`update ready set lane = ${occupied?.id ?? 0} where run_id = ${runId}`)
  await db.run(sql`
    update lane set used_at = now() - interval '2 hours' where id in (${occupied?.id ?? 0}, ${unused?.id ?? 0})`)

  await db.run(removeSideLanes({ minutes: 60, limit: 10 }))

  const left = await db.run(
    sql<{ id: number }>`select id from lane where line like '%used.example' or line like '%occupied.example'`,
  )
  expect(left.map(({ id }) => id).sort()).toEqual([used?.id, occupied?.id].sort())
})
