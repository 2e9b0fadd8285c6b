/**
 * Three ways to lay out the due index: one table as it is, or the same rows in partitions by the day or by the
 * hour of wake_at. A unique constraint of a partitioned table must contain what it is partitioned by.
 */
import { DEFAULT_PROJECT_ID } from '../../src/core/values/default-project.ts'
import { lookAhead } from '../../src/store/agenda/look-ahead.ts'
import type { Queryable } from '../../src/store/database/database.ts'
import { list, type Statement, sql } from '../../src/store/database/sql.ts'

export const LAYOUTS = ['shards', 'days', 'hours'] as const
export type LayoutName = (typeof LAYOUTS)[number]

/** How rows are found: by their id alone, or also by the period that a batch covers, which determines the partition. */
export type Key = 'id' | 'id and time'

const HOUR_MS = 3_600_000
const STEP_MS: Readonly<Record<LayoutName, number>> = { shards: 0, days: 24 * HOUR_MS, hours: HOUR_MS }
/** As for agenda, but without autovacuum, so that all layouts are vacuumed at the same point and the vacuum is measured. */
const STORAGE = 'fillfactor = 50, autovacuum_enabled = false'
const ALL_SHARDS = Array.from({ length: 64 }, (_, id) => id)

export const tableOf = (layout: LayoutName) => `due_${layout}`

/** Puts the name of a table into constant text: a name is the one thing that cannot be a parameter. */
const at = <Row>(layout: LayoutName, statement: Statement<Row>): Statement<Row> => ({
  ...statement,
  text: statement.text.replace(/\bagenda\b/g, tableOf(layout)),
})

const raw = <Row = Record<string, never>>(text: string): Statement<Row> => ({ text, values: [] })

/** Creates a layout with partitions for a number of days, beginning two hours or a day ago. */
export async function createLayout(db: Queryable, layout: LayoutName, days: number): Promise<number> {
  const table = tableOf(layout)
  if (layout === 'shards') {
    await db.run(raw(`create table ${table} (like agenda including all) with (${STORAGE})`))
    return 1
  }
  const stepMs = STEP_MS[layout]
  await db.run(
    raw(`create table ${table} (like agenda including defaults including constraints) partition by range (wake_at);
         alter table ${table} add primary key (run_id, wake_at);
         alter table ${table} add unique (task_id, scheduled_for, kind, serial, wake_at);
         create index on ${table} (shard, wake_at);
         create table ${table}_other partition of ${table} default with (${STORAGE})`),
  )
  const first = Math.floor((Date.now() - 2 * HOUR_MS) / stepMs) * stepMs
  const last = Date.now() + days * 24 * HOUR_MS
  let count = 0
  for (let from = first; from <= last; from += stepMs, count++)
    await db.run(
      raw(`create table ${table}_${count} partition of ${table}
           for values from ('${iso(from)}') to ('${iso(from + stepMs)}') with (${STORAGE})`),
    )
  return count
}

const iso = (ms: number) => new Date(ms).toISOString()

/** Rows that are due at random instants of a stretch of time, of tasks that were made within the last 30 days. */
export const fillLayout = (layout: LayoutName, q: { count: number; from: number; until: number }) =>
  at(
    layout,
    sql`
      insert into agenda (run_id, task_id, project_id, shard, wake_at, scheduled_for, version, ordinal)
      select uuidv7(-made), uuidv7(-made), ${DEFAULT_PROJECT_ID}, floor(random() * 64)::smallint, at, at, 1, 1
      from (select date_trunc('milliseconds', to_timestamp((${q.from}::float8 + random() * (${q.until}::float8 - ${q.from}::float8)) / 1000)) as at,
                   random() * interval '30 days' as made
            from generate_series(1, ${q.count}::integer)) due`,
  )

export interface Row {
  readonly runId: string
  readonly shard: number
  readonly fence: number
  readonly wakeAt: number
}

/** A batch of new rows, half of them of new tasks and half of old ones that recur. */
export const insertRows = (layout: LayoutName, rows: readonly Row[]) =>
  at(
    layout,
    sql`
      insert into agenda (run_id, task_id, project_id, shard, wake_at, scheduled_for, version, ordinal)
      select run_id, case when random() < 0.5 then run_id else uuidv7(-(random() * interval '30 days')) end, ${DEFAULT_PROJECT_ID}, shard, to_timestamp(wake_ms / 1000), to_timestamp(wake_ms / 1000), 1, 1
      from unnest(${list(rows, (r) => r.runId)}::uuid[], ${list(rows, (r) => r.shard)}::smallint[],
                  ${list(rows, (r) => r.wakeAt)}::float8[]) as i(run_id, shard, wake_ms)`,
  )

/** The statement of the product itself. */
export const look = (layout: LayoutName, q: { from: number | null; until: number; limitPerShard: number }) =>
  at(layout, lookAhead({ shards: ALL_SHARDS, ...q }))

/**
 * The period of the partitions that contain the rows, so that the planner excludes all others. Given the rows' own instants,
 * the planner would rather read everything that is due at these.
 */
const boundsOf = (layout: LayoutName, key: Key, rows: readonly Row[]) => {
  if (key === 'id') return { first: '-Infinity', last: 'Infinity' }
  const instants = rows.map(({ wakeAt }) => wakeAt)
  const stepMs = STEP_MS[layout]
  return {
    first: Math.floor(Math.min(...instants) / stepMs) * stepMs,
    last: (Math.floor(Math.max(...instants) / stepMs) + 1) * stepMs - 1,
  }
}

/** Turns scheduled rows into running ones: no indexed column changes. */
export function fireRows(layout: LayoutName, key: Key, workerId: string, rows: readonly Row[]) {
  const { first, last } = boundsOf(layout, key, rows)
  return at(
    layout,
    sql`
      update agenda a set state = 'running', worker_id = ${workerId}, claimed_at = clock_timestamp(), fence = a.fence + 1,
        attempt = a.attempt + 1
      from unnest(${list(rows, (r) => r.runId)}::uuid[], ${list(rows, (r) => r.fence)}::integer[]) as i(run_id, fence)
      where a.run_id = i.run_id and a.fence = i.fence and a.state in ('scheduled', 'retrying')
        and a.wake_at between to_timestamp(${first}::float8 / 1000) and to_timestamp(${last}::float8 / 1000)
      returning a.run_id`,
  )
}

/** Gives running rows another instant: with partitions that may be another table. */
export function retryRows(layout: LayoutName, key: Key, byMs: number, rows: readonly Row[]) {
  const { first, last } = boundsOf(layout, key, rows)
  return at(
    layout,
    sql`
      update agenda a set state = 'retrying', wake_at = a.wake_at + make_interval(secs => ${byMs}::float8 / 1000), worker_id = null,
        claimed_at = null
      from unnest(${list(rows, (r) => r.runId)}::uuid[], ${list(rows, (r) => r.fence)}::integer[]) as i(run_id, fence)
      where a.run_id = i.run_id and a.fence = i.fence
        and a.wake_at between to_timestamp(${first}::float8 / 1000) and to_timestamp(${last}::float8 / 1000)
      returning a.run_id`,
  )
}

/** Takes ended rows away. */
export function endRows(layout: LayoutName, key: Key, rows: readonly Row[]) {
  const { first, last } = boundsOf(layout, key, rows)
  return at(
    layout,
    sql`
      delete from agenda a
      using unnest(${list(rows, (r) => r.runId)}::uuid[], ${list(rows, (r) => r.fence)}::integer[]) as i(run_id, fence)
      where a.run_id = i.run_id and a.fence = i.fence
        and a.wake_at between to_timestamp(${first}::float8 / 1000) and to_timestamp(${last}::float8 / 1000)
      returning a.run_id`,
  )
}
