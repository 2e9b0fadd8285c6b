/** One-offs whose row is gone, over real tables: found, and run or recorded as their task allows. */
import { expect, test } from 'vitest'
import { tasksInAgenda } from '../../../test/support/agenda.ts'
import { createTestDatabase } from '../../../test/support/database.ts'
import { makePastDays } from '../../../test/support/history.ts'
import { uuidv7 } from '../../core/ids.ts'
import type { TaskDefinition } from '../../core/task/task.ts'
import { DEFAULT_PROJECT_ID } from '../../core/values/default-project.ts'
import { auditSummary, listFindings } from '../../store/audit/findings.ts'
import { sql } from '../../store/database/sql.ts'
import { silentLogger } from '../../telemetry/logger.ts'
import { PostgresTransport } from '../../transport/postgres/postgres-transport.ts'
import { LocalWakeUps } from '../../transport/wake-ups.ts'
import { Auditor } from './auditor.ts'

const { db } = await createTestDatabase()
const auditor = new Auditor({
  db,
  transport: new PostgresTransport(db),
  wakeUps: new LocalWakeUps(),
  log: silentLogger(),
})

const HOUR = 3_600_000
const DAY = 24 * HOUR

/** A slice of the walk over one-offs, from the beginning. */
async function walk(): Promise<void> {
  await db.run(sql`update audit_walk set position = null, next_pass_at = now()`)
  await auditor.runOnce()
}

/** A one-off that is due at an instant, and was made an hour before that at the latest. */
async function aOneOff(dueAt: number, definition: Partial<TaskDefinition> = {}): Promise<string> {
  const at = Math.floor(dueAt)
  const schedule = { type: 'once', at: new Date(at).toISOString() } as const
  const [task] = await tasksInAgenda(db, { dueAt: at, definition: { ...definition, schedule } })
  const id = task?.taskId ?? ''
  const madeAt = Math.min(at, Date.now()) - HOUR
  await db.run(sql`
    update task set created_at = to_timestamp(${madeAt}::float8 / 1000), updated_at = to_timestamp(${madeAt}::float8 / 1000) where id = ${id}`)
  return id
}

const lose = (taskId: string) => db.run(sql`delete from agenda where task_id = ${taskId}`)
const rowsOf = (taskId: string) =>
  db.run(sql<{ scheduledFor: number; state: string }>`
    select scheduled_for as "scheduledFor", state from agenda where task_id = ${taskId}`)
const historyOf = (taskId: string) =>
  db.run(sql<{ state: string; reason: string }>`select state, reason from run where task_id = ${taskId}`)
const findingsOf = (taskId: string) =>
  db.run(listFindings({ projectId: DEFAULT_PROJECT_ID, taskId, before: null, limit: 10 }))
const isSettled = async (taskId: string) => {
  const [task] = await db.run(sql<{ settled: boolean }>`
    select settled_as_of is not distinct from updated_at as settled from task where id = ${taskId}`)
  return task?.settled
}
const ran = (taskId: string, dueAt: number, endedAt: number) =>
  db.run(sql`
    insert into run (run_id, task_id, project_id, scheduled_for, started_at, ended_at, version, ordinal, kind, state, outcome)
    values (${uuidv7()}, ${taskId}, ${DEFAULT_PROJECT_ID}, to_timestamp(${Math.floor(dueAt)}::float8 / 1000), to_timestamp(${endedAt}::float8 / 1000),
            to_timestamp(${endedAt}::float8 / 1000), 1, 1, 'occurrence', 'completed', 'completed')`)

test('a one-off that lost its row before it was due gets the row again', async () => {
  const dueAt = Math.floor(Date.now() + HOUR)
  const id = await aOneOff(dueAt)
  await lose(id)

  await walk()

  expect(await rowsOf(id)).toEqual([{ scheduledFor: dueAt, state: 'scheduled' }])
  expect(await findingsOf(id)).toMatchObject([{ kind: 'one_off_lost', isRepaired: true, missed: 0 }])
})

test('a lost one-off that has come due runs within its misfire window', async () => {
  const dueAt = Math.floor(Date.now() - HOUR)
  const id = await aOneOff(dueAt)
  await lose(id)

  await walk()

  expect(await rowsOf(id)).toEqual([{ scheduledFor: dueAt, state: 'scheduled' }])
  expect(await findingsOf(id)).toMatchObject([
    { kind: 'one_off_lost', detail: expect.stringContaining('may have run already') },
  ])
})

test.each<[string, Partial<TaskDefinition>]>([
  ['after its misfire window', { misfire: { policy: 'run_once', window: '1m', cap: 100, rate: 10 } }],
  ['when it asks to run at most once', { onWorkerLoss: 'fail' }],
  ['under the misfire policy skip', { misfire: { policy: 'skip', window: '1d', cap: 100, rate: 10 } }],
])('a lost one-off is recorded as lost %s, once', async (_, definition) => {
  const id = await aOneOff(Date.now() - HOUR, definition)
  await lose(id)

  await walk()
  await walk()

  expect(await rowsOf(id)).toEqual([])
  expect(await historyOf(id)).toEqual([{ state: 'skipped', reason: 'lost' }])
  expect(await findingsOf(id)).toMatchObject([{ kind: 'one_off_lost', missed: 1 }])
})

test('one-offs that wait, run, ended, are paused or cancelled, or predate history are left unchanged', async () => {
  const waiting = await aOneOff(Date.now() + HOUR)
  const running = await aOneOff(Date.now() - HOUR)
  await db.run(sql`update agenda set state = 'pending' where task_id = ${running}`)
  const ended = await aOneOff(Date.now() - HOUR)
  const endedLate = await aOneOff(Date.now() - HOUR)
  const [paused, cancelled] = [await aOneOff(Date.now() + HOUR), await aOneOff(Date.now() + HOUR)]
  const ancient = await aOneOff(Date.now() - 400 * DAY)
  for (const id of [ended, endedLate, paused, cancelled, ancient]) await lose(id)
  await ran(ended, Date.now() - HOUR, Date.now() - HOUR)
  await db.run(sql`update task set created_at = now() - interval '3 days' where id = ${endedLate}`)
  const [due] = await db.run(sql<{ at: number }>`
    select (definition -> 'schedule' ->> 'at')::timestamptz as at from task where id = ${endedLate}`)
  await ran(endedLate, due?.at ?? 0, Date.now() - HOUR)
  await db.run(sql`update task set paused_at = now() where id = ${paused}`)
  await db.run(sql`update task set cancelled_at = now() where id = ${cancelled}`)
  const all = [waiting, running, ended, endedLate, paused, cancelled, ancient]
  const before = await Promise.all(all.map(rowsOf))

  await walk()

  expect(await Promise.all(all.map(rowsOf))).toEqual(before)
  for (const id of all) expect(await findingsOf(id)).toEqual([])
  // A task that only a search through all of history can settle is searched for once.
  expect(await Promise.all([endedLate, ancient].map(isSettled))).toEqual([true, true])
  const [summary] = await db.run(auditSummary({ projectId: DEFAULT_PROJECT_ID, limit: 10 }))
  expect(summary?.oneOffsEndedAt).not.toBeNull()
})

test('a one-off that was edited after its run is due at its new instant', async () => {
  const id = await aOneOff(Date.now() - 2 * HOUR)
  await lose(id)
  await ran(id, Date.now() - 2 * HOUR, Date.now() - 2 * HOUR)
  const again = Math.floor(Date.now() + HOUR)
  await db.run(sql`
    update task set version = 2, updated_at = now(), definition = jsonb_set(definition::jsonb, '{schedule,at}', to_jsonb(${new Date(again).toISOString()}::text))::json
    where id = ${id}`)

  await walk()

  expect(await rowsOf(id)).toEqual([{ scheduledFor: again, state: 'scheduled' }])
})

test('a one-off whose run was deleted by retention does not run again', async () => {
  await makePastDays(db, 5)
  const id = await aOneOff(Date.now() - 3 * DAY)
  await lose(id)
  await db.run(
    sql`insert into retention (project_id, history_from) values (${DEFAULT_PROJECT_ID}, now() - interval '2 days')`,
  )

  await walk()

  expect([await rowsOf(id), await historyOf(id), await findingsOf(id)]).toEqual([[], [], []])
  expect(await isSettled(id)).toBe(true)
})
