/**
 * Nodes with the role liveness and no other do all that keeps a cluster tidy, and several of them do it once: they
 * take runs back from the dead, make history's partitions, drop old ones, and forget what is outdated or kept for less time.
 */
import { expect, test } from 'vitest'
import { sql } from '../../src/store/database/sql.ts'
import { aNode, tasksInAgenda } from '../support/agenda.ts'
import { createTestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { makeDaysOfToday } from '../support/history.ts'
import { startTestNode } from '../support/node.ts'

const database = await createTestDatabase()
const { db } = database
await makeDaysOfToday(db)
const LIVENESS = {
  roles: ['liveness'],
  heartbeatMs: 100,
  leaseMs: 600,
  reaperMs: 20,
  reclaimBatch: 10,
  historyDays: 3,
  deadNodeMinutes: 60,
}
const RUNS = 50

const day = (offset: number) =>
  new Date(Date.now() + offset * 86_400_000).toISOString().slice(0, 10).replaceAll('-', '')

async function partitionsOf(parent: string): Promise<string[]> {
  const rows = await db.run(sql<{ name: string }>`
    select c.relname as name from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent = ${parent}::regclass order by 1`)
  return rows.map(({ name }) => name)
}

test('several nodes with only the role liveness do all housekeeping exactly once', async () => {
  const dead = await aNode(db, ['worker'])
  const tasks = await tasksInAgenda(db, { count: RUNS })
  await db.run(sql`
    update agenda set state = 'running', worker_id = ${dead}, claimed_at = now(), fence = fence + 1, attempt = 1`)
  const old = `create table run_${day(-9)} partition of run for values from ('2001-01-01 00:00+00') to ('2001-01-02 00:00+00')`
  await db.run({ text: old, values: [] })
  const log = `create table run_log_${day(-9)} partition of run_log for values from ('2001-01-01 00:00+00') to ('2001-01-02 00:00+00')`
  await db.run({ text: log, values: [] })
  const [from, until] = [-2, -1].map((offset) => `${day(offset)} 00:00+00`)
  const kept = `create table run_${day(-2)} partition of run for values from ('${from}') to ('${until}')`
  await db.run({ text: kept, values: [] })
  await db.run(sql`update project set history_days = 1, created_at = now() - interval '10 days'`)
  await db.run(sql`
    insert into run (run_id, task_id, project_id, scheduled_for, ended_at, version, ordinal, kind, state)
    select gen_random_uuid(), ${tasks[0]?.taskId}, id, at, at, 1, 1, 'occurrence', 'completed'
    from project, lateral (select date_trunc('day', now(), 'UTC') - interval '36 hours' as at) a`)
  await db.run({ text: `drop table run_${day(4)}, attempt_${day(5)}, run_log_${day(6)}`, values: [] })
  // The retention of projects begins after a round of the audit, and looks for one only now and then.
  await db.run(sql`update audit_progress set round_ended_at = now(), round_ms = 0`)
  await db.run(sql`
    insert into idempotency (project_id, key, fingerprint, status, answer, created_at)
    values (gen_random_uuid(), 'old', '\\x00', 201, '{}', now() - interval '25 hours')`)
  await db.run(sql`
    insert into node (id, name, version, roles, concurrency, dead_at, buried_at, reason)
    values (gen_random_uuid(), 'long dead', '0', '{worker}', 1, now() - interval '2 hours', now(), 'lost')`)

  const nodes = await Promise.all([1, 2, 3].map(() => startTestNode(database, LIVENESS)))
  await eventually(async () => {
    const [left] = await db.run(
      sql<{ count: number }>`select count(*) as count from agenda where state = 'running'`,
    )
    return left?.count === 0
  })
  await eventually(async () => (await partitionsOf('run')).includes(`run_${day(4)}`))
  await eventually(async () => !(await partitionsOf('run')).includes(`run_${day(-9)}`))
  await eventually(async () => (await partitionsOf('run_log')).includes(`run_log_${day(6)}`))
  await eventually(async () => !(await partitionsOf('run_log')).includes(`run_log_${day(-9)}`))
  await eventually(async () => (await db.run(sql`select from run`)).length === 0)
  await Promise.all(nodes.map((node) => node.stop()))

  // Each run was taken back once, whoever of the three did it: one loss, one attempt kept, one row to claim.
  expect(
    await db.run(sql`
      select state, losses, fence, count(*) as count from agenda group by state, losses, fence`),
  ).toEqual([{ state: 'pending', losses: 1, fence: 2, count: tasks.length }])
  expect(await db.run(sql`select outcome, count(*) as count from attempt group by outcome`)).toEqual([
    { outcome: 'worker_lost', count: RUNS },
  ])
  expect(await db.run(sql`select count(*) as count, count(distinct run_id) as runs from ready`)).toEqual([
    { count: RUNS, runs: RUNS },
  ])
  expect(
    await db.run(sql`select reason, buried_at is not null as buried from node where id = ${dead}`),
  ).toEqual([{ reason: 'lost', buried: true }])
  const days = [-1, 0, 1, 2, 3, 4, 5, 6, 7]
  expect(await partitionsOf('run')).toEqual([-2, ...days].map((offset) => `run_${day(offset)}`))
  expect(await partitionsOf('attempt')).toEqual(days.map((offset) => `attempt_${day(offset)}`))
  expect(await db.run(sql`select key from idempotency`)).toEqual([])
  expect(await db.run(sql`select id from node where name = 'long dead'`)).toEqual([])
})
