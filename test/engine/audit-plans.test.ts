/**
 * The audit and the answer to why are read by index whatever the planner believes: on tables that were analysed while they
 * were empty, and again when they are full.
 */
import { afterAll, expect, test } from 'vitest'
import { DEFAULT_PROJECT_ID as projectId } from '../../src/core/values/default-project.ts'
import { auditSlice, lockStalled, withoutNextRow } from '../../src/store/audit/audit.ts'
import { listFindings } from '../../src/store/audit/findings.ts'
import { ALL_SHARDS, strandedRows } from '../../src/store/audit/stranded-rows.ts'
import { Database } from '../../src/store/database/database.ts'
import { type Statement, sql } from '../../src/store/database/sql.ts'
import { lookForLostLanes } from '../../src/store/queues/lost-lanes.ts'
import { renewQueuesOfRuns, renewQueuesOfTasks } from '../../src/store/queues/queue-use.ts'
import * as why from '../../src/store/tasks/why.ts'
import { aDefinition } from '../support/agenda.ts'
import { createTestDatabase } from '../support/database.ts'
import { DAY_MS, makeHistory, makePastDays } from '../support/history.ts'
import { planOf } from '../support/plan.ts'

const { url, db } = await createTestDatabase()
const engine = new Database({
  url,
  applicationName: 'belfry test',
  maxConnections: 1,
  statementTimeoutMs: 60_000,
  favourIndexes: true,
})
afterAll(() => engine.close())

const TASKS = 10_000
const RUNS = 30_000
const SLICE = 3_000
const big = /^(run|attempt|agenda|ready|task)(_\d+)?$/

/** Tasks that recur, each with a row an hour ahead, and as many one-offs beside them. */
async function fill(): Promise<string[]> {
  await db.run(sql`
    with made as (
      insert into task (id, project_id, action_type, definition, created_at, updated_at)
      select gen_random_uuid(), ${projectId}, 'sleep',
             case when n % 2 = 0 then ${JSON.stringify(aDefinition({ schedule: { type: 'every', interval: '1h' } }))}::json
                  else ${JSON.stringify(aDefinition())}::json end, now(), now()
      from generate_series(1, ${2 * TASKS}::integer) n
      returning id
    )
    insert into agenda (run_id, task_id, project_id, shard, wake_at, scheduled_for, version, ordinal)
    select gen_random_uuid(), id, ${projectId}, (random() * 63)::smallint, now() + interval '1 hour', now() + interval '1 hour', 1, 1 from made`)
  const ids = await db.run(
    sql<{
      id: string
    }>`select id from task where definition -> 'schedule' ->> 'type' = 'every' order by id limit 1000`,
  )
  return ids.map(({ id }) => id)
}

async function expectByIndex(
  name: string,
  statement: Statement<unknown>,
  rows: number,
  on: 'engine' | 'lists',
) {
  const plan =
    on === 'engine'
      ? await planOf(engine, statement)
      : await db.snapshot((tx) => planOf(tx, statement), { inOrder: true })

  expect([name, plan.tablesRead.filter((table) => big.test(table))]).toEqual([name, []])
  expect(plan.rows, `${name} looks at ${plan.rows} rows`).toBeLessThanOrEqual(rows)
}

async function expectAllByIndex(ids: readonly string[]) {
  const [taskId = ''] = ids
  const at = Date.now() - DAY_MS
  // One-offs lie between the tasks of a slice, so twice as many rows of the agenda do.
  await expectByIndex('a slice', auditSlice({ after: null, limit: SLICE }), 6 * SLICE, 'engine')
  await expectByIndex(
    'the next slice',
    auditSlice({ after: ids.at(-1) ?? null, limit: SLICE }),
    6 * SLICE,
    'engine',
  )
  await expectByIndex('those that are unsure', withoutNextRow(ids), 2 * ids.length, 'engine')
  const look = strandedRows({ positions: ALL_SHARDS, olderThanMs: 60_000, maxPerShard: 50 })
  await expectByIndex('live rows', look, 64 * 50 * 3, 'engine')
  const slice = { after: null, limit: SLICE }
  await expectByIndex('queues of tasks', renewQueuesOfTasks(slice), 2 * SLICE, 'engine')
  await expectByIndex('queues of live rows', renewQueuesOfRuns(slice), 2 * SLICE, 'engine')
  await expectByIndex('lost lanes', lookForLostLanes({ after: -1, limit: SLICE }), 10, 'engine')
  await expectByIndex('a stalled task', lockStalled(taskId), 40, 'engine')
  await expectByIndex(
    'findings',
    listFindings({ projectId, taskId: null, before: null, limit: 50 }),
    100,
    'lists',
  )
  await expectByIndex('why: live rows', why.liveRuns({ taskId, limit: 200 }), 5, 'lists')
  await expectByIndex(
    'why: what waits',
    why.waitingIn({ lane: 0, before: null, limit: 1_000 }),
    1_010,
    'lists',
  )
  await expectByIndex('why: runs up to an instant', why.runsUpTo({ taskId, at, limit: 50 }), 200, 'lists')
  await expectByIndex('why: attempts', why.attemptsOf({ runId: taskId, from: at }), 20, 'lists')
  await expectByIndex('why: a pause', why.pauseAt({ taskId, at }), 5, 'lists')
}

test('audit and why queries use an index, whether the tables were analysed empty or full', async () => {
  await makePastDays(db, 4)
  await db.run(sql`analyze task, agenda, run, ready`)
  const ids = await fill()
  await makeHistory(db, { runs: RUNS, from: Date.now() - 3 * DAY_MS, until: Date.now(), taskIds: ids })

  await expectAllByIndex(ids)
  await db.run(sql`analyze task, agenda, run, ready`)
  await expectAllByIndex(ids)
})

test('why takes less than 50 ms of work for a task with a long history', async () => {
  const [taskId = ''] = (await db.run(sql<{ id: string }>`select task_id as id from run limit 1`)).map(
    ({ id }) => id,
  )
  const statements = [
    why.liveRuns({ taskId, limit: 200 }),
    why.waitingIn({ lane: 0, before: null, limit: 1_000 }),
    why.workersFor({ projectId, labels: [], handler: null, queue: 'default' }),
    why.watcherOf(1),
    why.runsUpTo({ taskId, at: Date.now(), limit: 50 }),
  ] as Statement<unknown>[]
  let pages = 0
  for (const statement of statements)
    pages += (await db.snapshot((tx) => planOf(tx, statement), { inOrder: true })).pages

  // Pages and not milliseconds, which depend on who else is at work: a page in memory is read in a few microseconds.
  expect(pages).toBeLessThan(1_000)
})
