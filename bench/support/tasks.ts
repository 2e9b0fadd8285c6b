/** Tasks put straight into the store, by the statement that the API uses for its bulk creates. */
import { setTimeout as delay } from 'node:timers/promises'
import type { Action } from '../../src/core/action/action.ts'
import { SHARD_COUNT, shardOf, uuidv7 } from '../../src/core/ids.ts'
import { TASK_DEFAULTS } from '../../src/core/task/field-list.ts'
import type { TaskDefinition } from '../../src/core/task/task.ts'
import { DEFAULT_PROJECT_ID } from '../../src/core/values/default-project.ts'
import { originOf } from '../../src/operations/audit-log/record-change.ts'
import type { Database } from '../../src/store/database/database.ts'
import { sql } from '../../src/store/database/sql.ts'
import { insertTasks, type NewTask } from '../../src/store/tasks/insert-tasks.ts'
import { connect } from './postgres.ts'

const BATCH = 10_000
/** One encodes while the other waits for the server. */
const CONNECTIONS = 2

/** How far nodes look ahead: they find tasks inserted beyond it in time without a wake-up. */
export const LOOK_AHEAD_MS = 10_000
/** Time for filling, and a margin for slow machines. */
const MS_A_TASK = 0.1
const MARGIN_MS = 3_000

/** Returns when the first of a number of tasks may be due, so that all tasks exist before a node reads them. */
export const afterFilling = (tasks: number) =>
  Math.ceil(Date.now() + LOOK_AHEAD_MS + MARGIN_MS + tasks * MS_A_TASK)

export const HOUR_MS = 3_600_000
export const DAY_MS = 24 * HOUR_MS

export interface Fill {
  readonly count: number
  /** When the task of this index is first due. */
  readonly dueAt: (index: number) => number
  /** What sets it apart from a one-off that sleeps for no time. */
  readonly definition?: Partial<TaskDefinition> | ((index: number) => Partial<TaskDefinition>)
}

const ORIGIN = originOf({ projectId: DEFAULT_PROJECT_ID, actor: { kind: 'system', part: 'bench' } })

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
      await db.run(insertTasks({ tasks, remember: null, origin: ORIGIN }))
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
    lane: 0,
    first: { runId: uuidv7(), at, delayMs: null },
    definition: {
      action: { type: 'sleep', duration: '0s' },
      schedule: { type: 'once', at: new Date(at).toISOString() },
      anchorAt: new Date(now).toISOString(),
      seed: null,
      ...TASK_DEFAULTS,
      projectId: DEFAULT_PROJECT_ID,
      traceparent: null,
      secrets: null,
      ...definition,
    },
  }
}

const REQUEST_BATCH = 5_000

/** One-offs that are due in an hour, through the API, which makes the lanes known that they wait in. */
export async function createTasks(url: string, count: number, action: Action): Promise<void> {
  const at = new Date(Date.now() + HOUR_MS).toISOString()
  const task = { action, schedule: { type: 'once', at } }
  for (let made = 0; made < count; made += REQUEST_BATCH) {
    const tasks = Array.from({ length: Math.min(REQUEST_BATCH, count - made) }, () => task)
    const answer = await fetch(`${url}/v1/tasks/bulk`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ tasks }),
    })
    if (answer.status !== 201) throw new Error(`tasks were refused: ${await answer.text()}`)
  }
}

/** Moves everything that is due within the next two hours to one instant. Nodes learn of it only from a wake-up. */
export async function makeDue(db: Database, at: number): Promise<void> {
  await db.run(sql`
    update agenda set wake_at = due.at, scheduled_for = due.at
    from (select to_timestamp(${at}::float8 / 1000) as at) due
    where wake_at < now() + interval '2 hours'`)
  await db.run(sql`vacuum analyze agenda`)
}

/** Tells all nodes that something is due then in every shard, as another node would. */
export async function wake(db: Database, at: number): Promise<void> {
  const due = Array.from({ length: SHARD_COUNT }, (_, shard) => [shard, at])
  const message = JSON.stringify({ from: 'bench', due, ready: false, cancel: false })
  await db.run(sql`select pg_notify('belfry_wake', ${message})`)
}

const POLL_MS = 25

/**
 * Waits until the agenda holds nothing that is due before the given instant. It watches one shard until it is empty, then the
 * next: that costs almost nothing beside what is measured, and is enough, because nothing new comes due meanwhile.
 */
export async function untilDone(
  db: Database,
  { dueBefore, timeoutMs }: { dueBefore: number; timeoutMs: number },
): Promise<void> {
  const deadline = performance.now() + timeoutMs
  for (let shard = 0; shard < SHARD_COUNT; ) {
    const [left] = await db.run(sql<{ any: boolean }>`
      select exists (
        select from agenda where shard = ${shard} and wake_at < to_timestamp(${dueBefore}::float8 / 1000)) as any`)
    if (!left?.any) {
      shard++
      continue
    }
    if (performance.now() > deadline) throw new Error(`After ${timeoutMs / 1000} s there are runs left.`)
    await delay(POLL_MS)
  }
}

/** When each run was due and how late it began, as history tells it. */
export interface Lateness {
  readonly dueAt: number
  readonly lateMs: number
}

/** Of all runs, or of those due within a stretch of time. */
export function readLateness(db: Database, { from = 0, to = NEVER_MS } = {}): Promise<Lateness[]> {
  return db.run(sql<Lateness>`
    select (extract(epoch from scheduled_for) * 1000)::float8 as "dueAt", late_ms as "lateMs" from run
    where late_ms is not null and scheduled_for >= to_timestamp(${from}::float8 / 1000)
      and scheduled_for < to_timestamp(${to}::float8 / 1000) and ended_at >= to_timestamp(${from}::float8 / 1000)`)
}

/** The year 3000. */
const NEVER_MS = 32_503_680_000_000

/** Counts of the runs in history; each run must be there once. */
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

/** Fails if a run was lost or performed twice, since the measurement is then worthless. */
export function assertAllDone({ runs, distinct, completed }: History, expected: number): void {
  if (runs === expected && distinct === expected && completed === expected) return
  throw new Error(
    `Of ${expected} runs history has ${runs}, ${distinct} of them distinct and ${completed} completed.`,
  )
}
