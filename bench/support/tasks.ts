/** Tasks put straight into the store, by the statement that the API uses for its bulk creates. */
import { setTimeout as delay } from 'node:timers/promises'
import { SHARD_COUNT, shardOf, uuidv7 } from '../../src/core/ids.ts'
import { DEFAULT_PROJECT_ID } from '../../src/core/project.ts'
import { TASK_DEFAULTS, type TaskDefinition } from '../../src/core/task.ts'
import type { Database } from '../../src/store/database.ts'
import { sql } from '../../src/store/sql.ts'
import { insertTasks, type NewTask } from '../../src/store/tasks.ts'
import { connect } from './postgres.ts'

const BATCH = 10_000
/** One encodes while the other waits for the server. */
const CONNECTIONS = 2

export const HOUR_MS = 3_600_000
export const DAY_MS = 24 * HOUR_MS

export interface Fill {
  readonly count: number
  /** When the task of this index is first due. */
  readonly dueAt: (index: number) => number
  /** What sets it apart from a one-off that sleeps for no time. */
  readonly definition?: Partial<TaskDefinition> | ((index: number) => Partial<TaskDefinition>)
}

export async function fill(url: string, { count, dueAt, definition = {} }: Fill): Promise<void> {
  const db = connect(url, CONNECTIONS)
  let next = 0
  const work = async () => {
    while (next < count) {
      const from = next
      next = Math.min(count, from + BATCH)
      const tasks = Array.from({ length: next - from }, (_, i) => {
        const index = from + i
        return newTask(dueAt(index), typeof definition === 'function' ? definition(index) : definition)
      })
      await db.run(insertTasks(DEFAULT_PROJECT_ID, tasks, null))
    }
  }
  await Promise.all(Array.from({ length: CONNECTIONS }, work)).finally(() => db.close())
}

function newTask(at: number, definition: Partial<TaskDefinition>): NewTask {
  const id = uuidv7()
  const now = Date.now()
  return {
    id,
    projectId: DEFAULT_PROJECT_ID,
    key: null,
    name: null,
    owner: null,
    tags: [],
    createdAt: now,
    shard: shardOf(id),
    first: { runId: uuidv7(), at, delayMs: null },
    definition: {
      action: { type: 'sleep', duration: '0s' },
      schedule: { type: 'once', at: new Date(at).toISOString() },
      startAt: null,
      endAt: null,
      maxRuns: null,
      anchorAt: new Date(now).toISOString(),
      ...TASK_DEFAULTS,
      metadata: {},
      traceparent: null,
      ...definition,
    },
  }
}

/**
 * Moves everything that is due within the next hours to one instant, now when none is given. Nodes do not
 * know it until they are woken.
 */
export async function makeDue(db: Database, at: number = Date.now()): Promise<void> {
  await db.run(sql`
    update agenda set wake_at = due.at, scheduled_for = due.at
    from (select to_timestamp(${at}::float8 / 1000) as at) due
    where wake_at < now() + interval '2 hours'`)
  await db.run(sql`vacuum analyze agenda`)
}

/** Tells all nodes to look, as another node would. */
export async function wake(db: Database): Promise<void> {
  const due = Array.from({ length: SHARD_COUNT }, (_, shard) => [shard, 0])
  const message = JSON.stringify({ from: 'bench', due, ready: false, cancel: false })
  await db.run(sql`select pg_notify('belfry_wake', ${message})`)
}

const POLL_MS = 100
/** Towards the end it is looked more often, so that the end is not told late. */
const LAST_POLL_MS = 10
const FEW = 1_000

/**
 * Waits until nothing is left in the agenda that is due before the given instant. Reading is one index
 * range a shard, and bounded, so that it costs next to nothing beside what is measured.
 */
export async function untilDone(
  db: Database,
  { dueBefore, timeoutMs }: { dueBefore: number; timeoutMs: number },
): Promise<void> {
  const deadline = performance.now() + timeoutMs
  for (;;) {
    const left = await leftOver(db, dueBefore)
    if (left === 0) return
    if (performance.now() > deadline)
      throw new Error(`After ${timeoutMs / 1000} s, ${left} or more runs are left.`)
    await delay(left < FEW ? LAST_POLL_MS : POLL_MS)
  }
}

async function leftOver(db: Database, dueBefore: number): Promise<number> {
  const [row] = await db.run(sql<{ count: number }>`
    select count(*)::integer as count
    from generate_series(0, ${SHARD_COUNT - 1}) as s(id)
    cross join lateral (
      select from agenda where shard = s.id and wake_at < to_timestamp(${dueBefore}::float8 / 1000) limit ${FEW / 50}
    ) a`)
  return row?.count ?? 0
}

/** When each run was due and how late it began, as history tells it. */
export interface Lateness {
  readonly dueAt: number
  readonly lateMs: number
}

export function readLateness(db: Database): Promise<Lateness[]> {
  return db.run(sql<Lateness>`
    select (extract(epoch from scheduled_for) * 1000)::float8 as "dueAt", late_ms as "lateMs" from run where late_ms is not null`)
}

/** What history says of the runs: each must be there once. */
export interface History {
  readonly runs: number
  readonly distinct: number
  readonly completed: number
}

export async function readHistory(db: Database): Promise<History> {
  const [row] = await db.run(sql<History>`
    select count(*)::integer as runs, count(distinct run_id)::integer as distinct,
           (count(*) filter (where state = 'completed'))::integer as completed
    from run`)
  return row ?? { runs: 0, distinct: 0, completed: 0 }
}

/** A benchmark that lost or doubled work has measured nothing. */
export function assertAllDone({ runs, distinct, completed }: History, expected: number): void {
  if (runs === expected && distinct === expected && completed === expected) return
  throw new Error(
    `Of ${expected} runs history has ${runs}, ${distinct} of them distinct and ${completed} completed.`,
  )
}
