/** The auditor over real tables: what is lost is found and put back, what is in order is left alone. */

import { beforeEach, expect, test } from 'vitest'
import { tasksInAgenda } from '../../../test/support/agenda.ts'
import { createTestDatabase } from '../../../test/support/database.ts'
import { uuidv7 } from '../../core/ids.ts'
import type { TaskDefinition } from '../../core/task/task.ts'
import { DEFAULT_PROJECT_ID } from '../../core/values/default-project.ts'
import { auditSummary, insertFindings, listFindings } from '../../store/audit/findings.ts'
import { sql } from '../../store/database/sql.ts'
import { insertNode } from '../../store/nodes/nodes.ts'
import { silentLogger } from '../../telemetry/logger.ts'
import { PostgresTransport } from '../../transport/postgres/postgres-transport.ts'
import { type DueHint, LocalWakeUps } from '../../transport/wake-ups.ts'
import { Auditor } from './auditor.ts'

const { db } = await createTestDatabase()
const wakeUps = new LocalWakeUps()
const hints: DueHint[] = []
wakeUps.onDue((all) => hints.push(...all))
const auditor = new Auditor({ db, transport: new PostgresTransport(db), wakeUps, log: silentLogger() })

const S = 1_000
const HOUR = 3_600 * S
const every = (interval: string): Partial<TaskDefinition> => ({
  schedule: { type: 'every', interval, anchor: '2026-01-01T00:00:00Z' },
})

/** A whole round, whatever the pauses between its slices. */
async function round(): Promise<void> {
  await db.run(sql`update audit_progress set walked_to = null, next_pass_at = now()`)
  await auditor.runOnce()
}

const rowsOf = (taskId: string) =>
  db.run(sql<{ scheduledFor: number; ordinal: number; state: string; version: number }>`
    select scheduled_for as "scheduledFor", ordinal, state, version from agenda where task_id = ${taskId} order by scheduled_for`)
const historyOf = (taskId: string) =>
  db.run(sql<{ state: string; reason: string; first: number; until: number; count: number }>`
    select state, reason, scheduled_for as first, covers_until as until, covers_count as count from run where task_id = ${taskId}`)
const findingsOf = async (taskId: string) =>
  db.run(listFindings({ projectId: DEFAULT_PROJECT_ID, taskId, before: null, limit: 10 }))
const lose = (taskId: string) => db.run(sql`delete from agenda where task_id = ${taskId}`)
const age = (taskId: string, ms: number) =>
  db.run(sql`
    update task set created_at = now() - ${ms}::float8 * interval '1 millisecond', updated_at = now() - ${ms}::float8 * interval '1 millisecond'
    where id = ${taskId}`)

async function aTask(
  definition: Partial<TaskDefinition>,
  { dueAt = Date.now() + HOUR, delayMs = null as number | null } = {},
) {
  const [task] = await tasksInAgenda(db, { definition, dueAt, delayMs })
  return (task as { taskId: string }).taskId
}

/** An occurrence that has ended. */
const ran = (taskId: string, at: number, ordinal = 1) =>
  db.run(sql`
    insert into run (run_id, task_id, project_id, scheduled_for, started_at, ended_at, version, ordinal, kind, state, outcome)
    values (${uuidv7()}, ${taskId}, ${DEFAULT_PROJECT_ID}, to_timestamp(${at}::float8 / 1000), to_timestamp(${at}::float8 / 1000),
            to_timestamp((${at}::float8 + 100) / 1000), 1, ${ordinal}, 'occurrence', 'completed', 'completed')`)

beforeEach(() => {
  hints.length = 0
})

test('tasks in order are left unchanged, whatever the state of their rows', async () => {
  const ids = [
    await aTask(every('1h')),
    await aTask(every('1h'), { dueAt: Date.now() - S }),
    await aTask({ schedule: { type: 'delay', interval: '1h' } }, { dueAt: Date.now() - S, delayMs: HOUR }),
    await aTask({ schedule: { type: 'once', at: '2026-01-01T00:00:00Z' } }),
    await aTask({ schedule: { type: 'manual' } }),
  ]
  await db.run(sql`update agenda set state = 'pending' where task_id = ${ids[2]}`)
  await db.run(sql`delete from agenda where task_id = any(${`{${ids[3]},${ids[4]}}`}::uuid[])`)
  const before = await Promise.all(ids.map(rowsOf))

  await round()

  expect(await Promise.all(ids.map(rowsOf))).toEqual(before)
  for (const id of ids) expect(await findingsOf(id)).toEqual([])
})

test('a lost row that is not due yet is written again at the same instant', async () => {
  const id = await aTask(every('1h'))
  await lose(id)

  await round()

  const [row, ...others] = await rowsOf(id)
  const next = Math.ceil(Date.now() / HOUR) * HOUR
  expect(row).toMatchObject({ scheduledFor: next, ordinal: 1, state: 'scheduled' })
  expect(others).toEqual([])
  expect(await findingsOf(id)).toMatchObject([{ kind: 'next_row_lost', isRepaired: true, missed: 0 }])
  expect(hints).toContainEqual(expect.objectContaining({ at: next }))
})

test('occurrences that came due after the loss are recorded as lost, and the latest runs', async () => {
  const id = await aTask(every('10s'))
  await age(id, 95 * S)
  const last = Math.floor((Date.now() - 60 * S) / (10 * S)) * 10 * S
  await ran(id, last, 4)
  await lose(id)

  await round()

  const [row] = await rowsOf(id)
  const [skip] = (await historyOf(id)).filter(({ state }) => state === 'skipped')
  expect(row?.ordinal).toBe(5)
  expect(row?.scheduledFor).toBeLessThanOrEqual(Date.now())
  expect(row?.scheduledFor).toBeGreaterThan(Date.now() - 15 * S)
  expect(skip).toMatchObject({
    reason: 'lost',
    first: last + 10 * S,
    until: (row?.scheduledFor ?? 0) - 10 * S,
  })
  expect(skip?.count).toBe(((skip?.until ?? 0) - (skip?.first ?? 0)) / (10 * S) + 1)
  expect(await findingsOf(id)).toMatchObject([{ missed: skip?.count }])
})

test('under the policy skip no lost occurrence runs', async () => {
  const id = await aTask({ ...every('10s'), misfire: { policy: 'skip', window: '1d' } as never })
  await age(id, 60 * S)
  await lose(id)

  await round()

  const [row] = await rowsOf(id)
  const [skip] = await historyOf(id)
  expect(row?.scheduledFor).toBeGreaterThan(Date.now())
  expect(skip).toMatchObject({ reason: 'lost', until: (row?.scheduledFor ?? 0) - 10 * S })
})

test('under the policy run_all lost occurrences run as catch-up, behind runs on time', async () => {
  const id = await aTask({
    ...every('10s'),
    misfire: { policy: 'run_all', window: '1d', cap: 4, rate: 1_000 },
    maxRuns: 20,
  })
  await age(id, 95 * S)
  const last = Math.floor((Date.now() - 80 * S) / (10 * S)) * 10 * S
  await ran(id, last, 4)
  await lose(id)

  await round()

  const rows = await db.run(sql<{ kind: string; at: number; ordinal: number; isBehind: boolean }>`
    select kind, scheduled_for as at, ordinal, priority > 0 and lane <> 0 as "isBehind" from agenda where task_id = ${id} order by scheduled_for`)
  const [skip] = (await historyOf(id)).filter(({ state }) => state === 'skipped')
  expect(rows.map(({ kind, ordinal, isBehind }) => [kind, ordinal, isBehind])).toEqual([
    ['catchup', 5, true],
    ['catchup', 6, true],
    ['catchup', 7, true],
    ['catchup', 8, true],
    ['occurrence', 9, false],
  ])
  expect(skip).toMatchObject({ reason: 'lost', first: last + 10 * S, until: (rows[0]?.at ?? 0) - 10 * S })
  expect(rows.at(-1)?.at).toBe((rows[3]?.at ?? 0) + 10 * S)
  const [finding] = await findingsOf(id)
  expect(finding?.detail).toContain('4 run as catch-up runs, 4 recorded as lost (misfire policy run_all)')
})

test('under the policy fail lost occurrences have failed', async () => {
  const id = await aTask({
    ...every('10s'),
    misfire: { policy: 'fail', window: '1d', cap: 100, rate: 10 },
  })
  await age(id, 60 * S)
  await lose(id)

  await round()

  const [row] = await rowsOf(id)
  expect(row?.scheduledFor).toBeGreaterThan(Date.now())
  expect(await historyOf(id)).toMatchObject([
    { state: 'permanently_failed', reason: 'lost', until: (row?.scheduledFor ?? 0) - 10 * S },
  ])
})

test('a lost resume row and a lost skip row are written again', async () => {
  const paused = await aTask(every('1h'))
  const skipping = await aTask(every('1h'))
  const inOrder = await aTask(every('1h'))
  const resumeAt = Date.now() + HOUR
  const next = Math.ceil(Date.now() / HOUR) * HOUR
  const skipUntil = next + 2 * HOUR
  for (const id of [paused, inOrder])
    await db.run(
      sql`update task set paused_at = now(), resume_at = to_timestamp(${resumeAt}::float8 / 1000) where id = ${id}`,
    )
  await db.run(sql`update agenda set kind = 'resume' where task_id = ${inOrder}`)
  await lose(paused)
  await db.run(
    sql`update task set skip_until = to_timestamp(${skipUntil}::float8 / 1000) where id = ${skipping}`,
  )
  const kinds = (id: string) =>
    db.run(sql<{ kind: string; at: number }>`
      select kind, scheduled_for as at from agenda where task_id = ${id} and kind <> 'occurrence' order by scheduled_for`)

  await round()

  expect(await kinds(paused)).toEqual([{ kind: 'resume', at: resumeAt }])
  expect(await kinds(skipping)).toEqual([{ kind: 'skip', at: next }])
  expect(await findingsOf(paused)).toMatchObject([{ kind: 'resume_row_lost', isRepaired: true }])
  expect(await findingsOf(skipping)).toMatchObject([{ kind: 'skip_row_lost', isRepaired: true }])
  expect(await findingsOf(inOrder)).toEqual([])
  expect(hints).toContainEqual(expect.objectContaining({ at: resumeAt }))
})

test('a delay schedule continues from the end of its last run', async () => {
  const id = await aTask({ schedule: { type: 'delay', interval: '1h' } }, { delayMs: HOUR })
  const at = Date.now() - 600 * S
  await ran(id, at)
  await lose(id)

  await round()

  expect(await rowsOf(id)).toMatchObject([{ scheduledFor: at + 100 + HOUR, ordinal: 2 }])
})

test('a task without further occurrences is checked once, and again after a change', async () => {
  const over = await aTask({ ...every('10s'), maxRuns: 2 })
  await age(over, 60 * S)
  await ran(over, Math.floor((Date.now() - 30 * S) / (10 * S)) * 10 * S, 2)
  const ended = await aTask({ ...every('10s'), endAt: new Date(Date.now() - 30 * S).toISOString() })
  await age(ended, 30 * S)
  for (const id of [over, ended]) await lose(id)
  const settled = (id: string) =>
    db.run(sql<{ is: boolean }>`select settled_as_of = updated_at as is from task where id = ${id}`)

  await round()

  for (const id of [over, ended]) {
    expect(await rowsOf(id)).toEqual([])
    expect(await findingsOf(id)).toEqual([])
    expect(await settled(id)).toEqual([{ is: true }])
  }
  await db.run(sql`update task set updated_at = now() where id = ${over}`)
  expect(await settled(over)).toEqual([{ is: false }])
})

test('paused and cancelled tasks need no row', async () => {
  const paused = await aTask(every('1h'))
  const cancelled = await aTask(every('1h'))
  await db.run(sql`update task set paused_at = now() where id = ${paused}`)
  await db.run(sql`update task set cancelled_at = now() where id = ${cancelled}`)
  for (const id of [paused, cancelled]) await lose(id)

  await round()

  for (const id of [paused, cancelled]) expect(await rowsOf(id)).toEqual([])
})

test('a loss that history cannot resolve is reported and not repaired', async () => {
  const id = await aTask({ ...every('1h'), maxRuns: 3 })
  await age(id, 90 * 24 * HOUR)
  await lose(id)

  await round()

  expect(await rowsOf(id)).toEqual([])
  expect(await findingsOf(id)).toMatchObject([{ isRepaired: false }])
})

test('a task that cannot be repaired is reported once and does not block other tasks', async () => {
  const broken = await aTask(every('1h'))
  const other = await aTask(every('1h'))
  for (const id of [broken, other]) await lose(id)
  await db.run(sql`
    update task set definition = (definition::jsonb || '{"schedule": {"type": "every", "interval": "soon"}}')::json where id = ${broken}`)

  await round()
  await round()

  expect(await findingsOf(broken)).toMatchObject([{ isRepaired: false, kind: 'next_row_lost' }])
  expect(await rowsOf(other)).toHaveLength(1)
  await db.run(sql`update task set cancelled_at = now() where id = ${broken}`)
})

test('ten concurrent auditors repair a task once', async () => {
  const id = await aTask(every('10s'))
  await age(id, 60 * S)
  await lose(id)
  const others = Array.from(
    { length: 10 },
    () => new Auditor({ db, transport: new PostgresTransport(db), wakeUps, log: silentLogger() }),
  )

  await db.run(sql`update audit_progress set walked_to = null, next_pass_at = now()`)
  await Promise.all(others.map((other) => other.runOnce()))
  await round()

  expect(await rowsOf(id)).toHaveLength(1)
  expect(await findingsOf(id)).toHaveLength(1)
})

test('a pending run missing in ready is put there, and the run of a dead node is left to the reaper', async () => {
  const stranded = await aTask(every('1h'), { dueAt: Date.now() - 120 * S })
  const queued = await aTask(every('1h'), { dueAt: Date.now() - 120 * S })
  const held = await aTask(every('1h'), { dueAt: Date.now() - 120 * S })
  const node = uuidv7()
  await db.run(
    insertNode({ id: node, name: 'gone', version: '0', roles: ['worker'], concurrency: 1, labels: [] }),
  )
  await db.run(sql`update node set dead_at = now(), buried_at = now() where id = ${node}`)
  await db.run(
    sql`update agenda set state = 'pending' where task_id = any(${`{${stranded},${queued}}`}::uuid[])`,
  )
  await db.run(sql`
    insert into ready (lane, priority, wake_at, run_id) select lane, priority, wake_at, run_id from agenda where task_id = ${queued}`)
  await db.run(sql`update agenda set state = 'running', worker_id = ${node} where task_id = ${held}`)

  await round()

  const ready = await db.run(sql<{ taskId: string; count: number }>`
    select task_id as "taskId", count(*)::integer as count from ready join agenda using (run_id) group by 1`)
  const [dead] = await db.run(
    sql<{ isBuried: boolean }>`select buried_at is not null as "isBuried" from node where id = ${node}`,
  )
  expect(ready).toContainEqual({ taskId: stranded, count: 1 })
  expect(ready).toContainEqual({ taskId: queued, count: 1 })
  expect(dead?.isBuried).toBe(false)
  expect(await findingsOf(stranded)).toMatchObject(
    expect.arrayContaining([expect.objectContaining({ kind: 'ready_row_lost' })]),
  )
  expect(await findingsOf(held)).toMatchObject(
    expect.arrayContaining([expect.objectContaining({ kind: 'held_by_dead_node' })]),
  )
})

test('a round goes slice by slice and records its end', async () => {
  await db.run(sql`delete from audit_finding`)
  await round()

  const [progress] = await db.run(sql<{ tasks: number; ended: number; walkedTo: string | null }>`
    select round_tasks as tasks, round_ended_at as ended, walked_to as "walkedTo" from audit_progress`)
  expect(progress?.walkedTo).toBeNull()
  expect(progress?.tasks).toBeGreaterThan(3)
  expect(progress?.ended).toBeGreaterThan(Date.now() - 60 * S)
})

test('a round that was interrupted for months ends, and the next one begins', async () => {
  const id = await aTask(every('1h'))
  await lose(id)
  await db.run(sql`update audit_progress set began_at = now() - interval '90 days'`)

  await round()

  const [progress] = await db.run(sql<{ beganAt: number }>`select began_at as "beganAt" from audit_progress`)
  expect(await rowsOf(id)).toHaveLength(1)
  expect(progress?.beganAt).toBeGreaterThan(Date.now() - 60 * S)
})

test('findings of more missed occurrences than a count can be are stored and summed', async () => {
  const finding = () => ({ id: uuidv7(), projectId: DEFAULT_PROJECT_ID, taskId: null, runId: null })
  const lost = { kind: 'next_row_lost', isRepaired: true, missed: 3_000_000_000, detail: 'lost' } as const

  await db.run(insertFindings([finding(), finding()].map((one) => ({ ...one, ...lost }))))

  const [summary] = await db.run(auditSummary({ projectId: DEFAULT_PROJECT_ID, limit: 100 }))
  expect(summary?.missed).toBeGreaterThanOrEqual(2 * 2_147_483_647)
})
