/**
 * Lists are read by index whatever the planner believes: each statement is explained on tables that were
 * analysed while they were empty, and again when they are full, and may look at no more than it shows and a
 * little beside it. `npm run bench -- history` takes the time of the same at ten million runs.
 */
import { expect, test } from 'vitest'
import { uuidv7 } from '../../src/core/ids.ts'
import { DEFAULT_PROJECT_ID as projectId } from '../../src/core/values/default-project.ts'
import { type Statement, sql } from '../../src/store/database/sql.ts'
import { attemptsOfTask } from '../../src/store/history/attempts.ts'
import { changesSince } from '../../src/store/history/change-feed.ts'
import { groupDeadLetters, lastExamined, openDeadLetters } from '../../src/store/history/dead-letters.ts'
import { endedRuns, endsBetween, endsOfTransactions, lateEnds } from '../../src/store/history/ended-runs.ts'
import {
  historyBetween,
  ledgerTask,
  liveOccurrences,
  occurrenceBefore,
  pastVersions,
  skipBefore,
} from '../../src/store/history/ledger.ts'
import {
  countAhead,
  failedTasks,
  failureStreaks,
  liveCounts,
  occurrencesAhead,
  taskCounts,
} from '../../src/store/history/overview.ts'
import {
  historyBegin,
  NO_ID,
  runsById,
  runsEndedAs,
  runsInWindow,
} from '../../src/store/history/run-search.ts'
import { recentRuns, runsOfTask } from '../../src/store/history/runs.ts'
import { groupRuns, readTallies } from '../../src/store/history/tally.ts'
import { leasedByNodes } from '../../src/store/nodes/cluster.ts'
import { activeTasks } from '../../src/store/tasks/active-tasks.ts'
import { tasksInSlice } from '../../src/store/tasks/task-walk.ts'
import { findTasks } from '../../src/store/tasks/tasks.ts'
import { inProgressWithKey, MAX_ENDS_EXAMINED } from '../../src/store/tasks/why-then.ts'
import { tasksInAgenda } from '../support/agenda.ts'
import { createTestDatabase } from '../support/database.ts'
import { DAY_MS, makeHistory, makePastDays } from '../support/history.ts'
import { planOf } from '../support/plan.ts'

const { db } = await createTestDatabase()
const RUNS = 150_000
const TASKS = 10_000
const DAYS = 4
const LIMIT = 51
const now = Date.now()
const SPAN_MS = (DAYS - 1) * DAY_MS

const tables = /^(run|attempt|agenda|ready|task)(_|$)/

const tasks = await tasksInAgenda(db, { count: TASKS, dueAt: now + 3_600_000 })
const taskIds = tasks.map(({ taskId }) => taskId)
const [busy = ''] = taskIds

interface Bounds {
  readonly rows: number
  readonly pages: number
  /** The list has an index that gives it in its own order. */
  readonly inOrder?: boolean
}

/** A BRIN leads to stretches of this many pages, whatever part of them is wanted. */
const RANGE_PAGES = 128

async function expectByIndex(name: string, statement: Statement<unknown>, bounds: Bounds) {
  const { rows, pages, inOrder = false } = bounds
  const plan = await db.snapshot((tx) => planOf(tx, statement), { inOrder })

  expect([name, plan.tablesRead.filter((table) => tables.test(table))]).toEqual([name, []])
  expect(plan.rows, `${name} looks at ${plan.rows} rows`).toBeLessThanOrEqual(rows)
  expect(plan.pages, `${name} reads ${plan.pages} pages`).toBeLessThanOrEqual(pages)
}

async function expectAllByIndex(ids: readonly string[]) {
  const at = (ago: number) => ({ us: (now - ago) * 1_000, id: NO_ID })
  // Two summarised ranges and the one at the end that has no summary yet, of about 40 rows a page.
  const stretch = { rows: 4 * RANGE_PAGES * 45, pages: 5 * RANGE_PAGES + 400 }
  for (const [name, ago] of [
    ['the latest runs', 0],
    ['runs of two days ago', 2 * DAY_MS],
  ] as const) {
    const before = at(ago)
    const fromUs = before.us - 64_000_000
    const window = { projectId, fromUs, historyFromUs: 0, before, limit: LIMIT, maxExamined: 10_000 }
    await expectByIndex(name, runsInWindow({ ...window, state: null }), stretch)
    await expectByIndex(`${name}, completed`, runsInWindow({ ...window, state: 'completed' }), stretch)
  }
  const everything = {
    ...{ projectId, fromUs: null, historyFromUs: 0, before: at(0), limit: LIMIT, maxExamined: 1_000 },
  }
  await expectByIndex('a crowded stretch', runsInWindow({ ...everything, state: null }), stretch)
  for (const state of ['permanently_failed', 'cancelled', 'skipped'] as const) {
    const latest = { projectId, state, fromUs: null, before: at(0), limit: LIMIT }
    const before = at(2 * DAY_MS)
    const bounds = { rows: LIMIT, pages: 300, inOrder: true }
    await expectByIndex(`the latest ${state}`, runsEndedAs(latest), bounds)
    await expectByIndex(`${state} of before`, runsEndedAs({ ...latest, before }), bounds)
  }
  const byId = runsById({ ids, endedFromUs: null })
  for (const inOrder of [true, false])
    await expectByIndex('runs by id', byId, { rows: 4 * ids.length, pages: 5_000, inOrder })
  const ofTask = { projectId, taskId: busy, limit: LIMIT }
  const before = { scheduledFor: now - 2 * DAY_MS, id: uuidv7() }
  // Beside what it shows, one row of each day, and the name of the task with every row.
  const bounds = { rows: 3 * LIMIT + 20, pages: 600, inOrder: true }
  await expectByIndex('runs of a task', runsOfTask(ofTask), bounds)
  await expectByIndex('runs of a task, further on', runsOfTask({ ...ofTask, before }), bounds)
  for (const state of ['permanently_failed', 'cancelled', 'skipped'] as const)
    await expectByIndex(`runs of a task, ${state}`, runsOfTask({ ...ofTask, state }), bounds)
  const attempts = attemptsOfTask(ofTask)
  await expectByIndex('attempts of a task', attempts, { ...bounds, rows: 5 * LIMIT + 20 })
  const changes = { projectId, since: now - 10_000, madeSince: now - 300_000, limit: 100, livePerShard: 5 }
  await expectByIndex('what has changed', changesSince(changes), {
    rows: stretch.rows + 10_000,
    pages: stretch.pages + 64 * 8,
  })
  const page = { projectId, limit: LIMIT }
  await expectByIndex('tasks', findTasks(page), { rows: 4 * LIMIT, pages: 2_000 })
  await expectByIndex('tasks by id', findTasks({ ...page, ids: taskIds.slice(0, LIMIT) }), {
    rows: 4 * LIMIT,
    pages: 2_000,
  })
  for (const state of ['paused', 'cancelled'] as const)
    await expectByIndex(`tasks that are ${state}`, findTasks({ ...page, state }), { rows: LIMIT, pages: 500 })
  await expectByIndex('tasks of an owner', findTasks({ ...page, owner: 'nobody' }), {
    rows: LIMIT,
    pages: 500,
  })
  for (const state of ['running', 'pending'] as const)
    await expectByIndex(`tasks that are ${state}`, activeTasks({ projectId, state }), {
      rows: 4 * LIMIT,
      pages: 2_000,
    })
  for (const state of ['finished', 'running', 'pending', 'scheduled'] as const)
    await expectByIndex(
      `a walk to ${state} tasks`,
      tasksInSlice({ projectId, state, wanted: LIMIT, slice: 5_000 }),
      {
        rows: 2 * 5_000 + 2 * LIMIT,
        pages: 30_000,
      },
    )
  const holders = inProgressWithKey({ projectId, key: 'some', at: now - 2 * DAY_MS, limit: LIMIT })
  await expectByIndex('runs in progress then', holders, {
    rows: 2 * MAX_ENDS_EXAMINED + 2 * RANGE_PAGES * 45,
    pages: MAX_ENDS_EXAMINED / 4,
  })
  const strips = recentRuns({ taskIds: taskIds.slice(0, 50), limit: 20 })
  await expectByIndex('latest runs of many tasks', strips, {
    rows: 50 * (20 + 12),
    pages: 10_000,
    inOrder: true,
  })
  const ledger = { taskId: busy, from: now - DAY_MS, to: now }
  await expectByIndex('a ledger: what ran', historyBetween({ ...ledger, limit: LIMIT }), bounds)
  await expectByIndex('a ledger: a skip before', skipBefore(ledger), {
    rows: 620,
    pages: 1_200,
    inOrder: true,
  })
  // The latest occurrence is looked for among many, should they have been asked for by somebody.
  const before5000 = { rows: 5_000 + 20, pages: 16_000, inOrder: true }
  await expectByIndex('a ledger: what ran before', occurrenceBefore(ledger), before5000)
  await expectByIndex('a ledger: what is live', liveOccurrences({ taskId: busy, limit: LIMIT }), bounds)
  await expectByIndex('a ledger: the task', ledgerTask({ projectId, taskId: busy }), bounds)
  await expectByIndex('a ledger: its versions', pastVersions({ ...ledger, limit: LIMIT }), bounds)
  await expectByIndex('the beginning of history', historyBegin(), { rows: 2_000, pages: 400 })
}

/** The overview looks at a bounded part of each shard and of each task, whatever there is. */
async function expectOverviewByIndex() {
  const perShard = 10
  const ofShards = { rows: 2 * 64 * perShard + 200, pages: 2 * 64 * (perShard + 8), inOrder: true }
  const until = now + 3_600_000 * 2
  await expectByIndex(
    'what is live',
    liveCounts({ projectId, lateAfterMs: 5_000, maxPerShard: perShard }),
    ofShards,
  )
  await expectByIndex('what nodes hold', leasedByNodes({ projectId: null, maxPerShard: perShard }), ofShards)
  const shards = Array.from({ length: 64 }, (_, id) => id)
  await expectByIndex(
    'what lies ahead',
    countAhead({ projectId, until, shards, maxPerShard: perShard }),
    ofShards,
  )
  await expectByIndex('occurrences ahead', occurrencesAhead({ projectId, until, limit: perShard }), ofShards)
  await expectByIndex(
    'tasks that failed',
    failedTasks({ projectId, maxFailures: 100, maxTasks: 20, runsEach: 10 }),
    { rows: 100 + 20 + 20 * 10 + 200, pages: 2_000, inOrder: true },
  )
  const streaks = failureStreaks({ taskIds: taskIds.slice(0, 10), maxRuns: 100 })
  await expectByIndex('how often they failed', streaks, {
    rows: 10 * (100 + 12),
    pages: 10_000,
    inOrder: true,
  })
  await expectByIndex('how many tasks', taskCounts({ projectId, limit: 500 }), {
    rows: 500,
    pages: 600,
    inOrder: true,
  })
  const minute = { from: now - 2 * DAY_MS, until: now - 2 * DAY_MS + 60_000 }
  const stretch = { rows: 4 * RANGE_PAGES * 45, pages: 5 * RANGE_PAGES + 400 }
  await expectByIndex('runs of a minute', groupRuns(minute), stretch)
  await expectByIndex('minutes that were counted', readTallies({ projectId, from: now - DAY_MS }), {
    rows: 1_500,
    pages: 100,
  })
}

/** Dead letters are found along the index of what did not complete. */
async function expectDeadLettersByIndex() {
  const query = {
    projectId,
    filter: {},
    before: { us: now * 1_000, id: NO_ID },
    limit: LIMIT,
    maxExamined: 500,
  }
  const bounds = { rows: 4 * 500, pages: 6_000, inOrder: true }
  await expectByIndex('open dead letters', openDeadLetters(query), bounds)
  await expectByIndex('how far they were looked for', lastExamined(query), bounds)
  await expectByIndex('groups of dead letters', groupDeadLetters({ ...query, by: 'error' }), bounds)
}

/** Whoever follows history reads its latest stretch, or one further back, and nothing else of it. */
async function expectEventsByIndex(ids: readonly string[]) {
  const stretch = { rows: 4 * RANGE_PAGES * 45, pages: 5 * RANGE_PAGES + 400 }
  const [seen] = await db.run(sql<{ xmax: number }>`
    select pg_snapshot_xmax(pg_current_snapshot())::text::bigint as xmax`)
  const xmax = seen?.xmax ?? 0
  const from = { xmax: 3, fromUs: 0, pending: [] }
  const to = { xmax, fromUs: now * 1_000, pending: [] }
  const after = { us: (now - 2 * DAY_MS) * 1_000 + 1_000, id: NO_ID }
  const query = { from, to, after: null, limit: LIMIT, stream: null }
  const latest = endsBetween({ ...query, fromUs: (now - 20_000) * 1_000, untilUs: null })
  await expectByIndex('what has just ended', latest, stretch)
  const back = { fromUs: (now - 2 * DAY_MS) * 1_000, untilUs: (now - 2 * DAY_MS + 5_000) * 1_000 }
  await expectByIndex('what ended two days ago', endsBetween({ ...query, ...back, after }), stretch)
  const [row] = await db.run(sql<{ taskId: string }>`select task_id as "taskId" from run limit 1`)
  const ofTask = endsBetween({ ...query, ...back, after, stream: row?.taskId ?? null })
  // By the index of its task or by that of instants: at worst all that the busiest task did in one partition.
  const ofTaskInADay = { rows: stretch.rows, pages: Math.ceil(RUNS / 3 / DAYS / 8) + stretch.pages }
  await expectByIndex('what of a task ended two days ago', ofTask, ofTaskInADay)
  const strays = { untilUs: back.untilUs, after: null, limit: LIMIT }
  const long = { xids: [xmax - 1], fromUs: back.fromUs }
  await expectByIndex('what a long transaction wrote', endsOfTransactions({ ...strays, long, xmax }), stretch)
  await expectByIndex('what was stored late', lateEnds({ ...strays, storedFromUs: back.fromUs }), {
    rows: LIMIT,
    pages: 20,
    inOrder: true,
  })
  const places = await db.run(sql<{ id: string; us: number }>`
    select run_id as id, (extract(epoch from ended_at) * 1000000)::bigint as us from run
    where run_id = any(${`{${ids.join(',')}}`}::uuid[])`)
  await expectByIndex('ended runs by place', endedRuns({ places, xmax }), {
    rows: 6 * ids.length,
    pages: 2_000,
  })
}

test('every list uses an index on tables analysed empty, then filled, then analysed again', {
  timeout: 120_000,
}, async () => {
  await makePastDays(db, DAYS)
  await db.run(sql`analyze`)
  const part = { taskIds, busyEvery: 3 }
  await makeHistory(db, { ...part, runs: RUNS, from: now - SPAN_MS, until: now - 60_000 })
  await db.run(sql`
    insert into attempt (run_id, task_id, started_at, ended_at, number, fence, outcome)
    select run_id, task_id, started_at, ended_at, 1, 1, 'failed' from run where run_id::text like '%5'`)
  await db.run(
    sql`insert into run_retry (run_id, retry_of) select run_id, gen_random_uuid() from run limit 20000 on conflict do nothing`,
  )
  // Autovacuum does this a range at a time, as they fill.
  await summarise()
  await makeHistory(db, { ...part, runs: 3_000, from: now - 60_000, until: now })
  const ids = (await db.run(sql<{ id: string }>`select run_id as id from run limit 50`)).map(({ id }) => id)
  await expectAllByIndex(ids)
  await expectOverviewByIndex()
  await expectEventsByIndex(ids)
  await expectDeadLettersByIndex()

  await db.run(sql`analyze`)
  await expectAllByIndex(ids)
  await expectOverviewByIndex()
  await expectEventsByIndex(ids)
  await expectDeadLettersByIndex()
})

async function summarise() {
  await db.run(sql`
    select brin_summarize_new_values(c.oid) from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent in ('run_by_end'::regclass, 'attempt_by_end'::regclass)`)
}

test('the indexes of instants have autosummarize on every partition', async () => {
  const indexes = await db.run(sql<{ name: string; options: string[] | null }>`
    select c.relname as name, c.reloptions as options from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent in ('run_by_end'::regclass, 'attempt_by_end'::regclass)`)

  expect(indexes.length).toBeGreaterThan(2 * DAYS)
  for (const { options } of indexes) expect(options).toEqual(['autosummarize=on'])
})
