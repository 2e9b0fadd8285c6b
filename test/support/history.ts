/** A long history in a short time: rows straight into the tables, made by the database itself. */
import { DEFAULT_PROJECT_ID } from '../../src/core/values/default-project.ts'
import type { Queryable } from '../../src/store/database/database.ts'
import { sql } from '../../src/store/database/sql.ts'
import { ensurePartitions } from '../../src/store/history/partitions.ts'

export const DAY_MS = 86_400_000

/** Partitions for the days before yesterday, as if the program had been running since. */
export async function makePastDays(db: Queryable, days: number): Promise<void> {
  for (const parent of ['run', 'attempt']) {
    for (let ago = 2; ago <= days; ago++) {
      const day = new Date(Math.floor(Date.now() / DAY_MS) * DAY_MS - ago * DAY_MS)
      const name = `${parent}_${day.toISOString().slice(0, 10).replaceAll('-', '')}`
      const next = new Date(day.getTime() + DAY_MS)
      await db.run({
        text: `create table if not exists ${name} partition of ${parent} for values from ('${day.toISOString()}') to ('${next.toISOString()}')`,
        values: [],
      })
    }
  }
}

/** The partitions of a database that is migrated today: the template of the tests may have been migrated before midnight. */
export async function makeDaysOfToday(db: Queryable): Promise<void> {
  await db.run(ensurePartitions())
  const yesterday = new Date(Date.now() - DAY_MS).toISOString().slice(0, 10).replaceAll('-', '')
  const outdated = await db.run(sql<{ name: string }>`
    select c.relname as name from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent in ('run'::regclass, 'attempt'::regclass, 'run_log'::regclass) and right(c.relname, 8) < ${yesterday}`)
  for (const { name } of outdated) await db.run({ text: `drop table ${name}`, values: [] })
}

export interface HistoryToMake {
  readonly runs: number
  /** Runs end evenly between these instants. */
  readonly from: number
  readonly until: number
  /** The tasks that the runs belong to, in turn. */
  readonly taskIds: readonly string[]
  /** One in this many runs belongs to the first task, instead of the task whose turn it is. */
  readonly busyEvery?: number
  readonly projectId?: string
}

/**
 * Appends ended runs in the order of their ends: of a hundred 96 completed, two failed, one was cancelled and
 * one skipped.
 */
export async function makeHistory(
  db: Queryable,
  { runs, from, until, taskIds, busyEvery = 10, projectId = DEFAULT_PROJECT_ID }: HistoryToMake,
): Promise<void> {
  await db.run(sql`
    insert into run (run_id, task_id, project_id, scheduled_for, started_at, ended_at, version, ordinal, fence, late_ms, attempt, kind,
                     state, reason, outcome, output, error)
    select (lpad(to_hex((extract(epoch from at) * 1000)::bigint), 12, '0') || '7' || substr(md5(n::text), 1, 3) || '8' ||
            substr(md5((n + random())::text), 1, 15))::uuid,
           case when n % ${busyEvery}::integer = 0 then task_ids[1] else task_ids[1 + n % cardinality(task_ids)] end, ${projectId},
           date_trunc('milliseconds', at) - interval '200 milliseconds', at - interval '190 milliseconds', at, 1, 1, 1,
           (random() * 20)::bigint, case when state = 'skipped' then 0 else 1 end, 'occurrence', state::run_state,
           case when state = 'skipped' then 'overlap' end,
           case state when 'completed' then 'completed' when 'permanently_failed' then 'failed' when 'cancelled' then 'cancelled' end,
           case when state = 'completed' then '{"status": 200, "bodyBytes": 2}'::jsonb end,
           case when state = 'permanently_failed' then '{"code": "http_status", "message": "The receiver answered 503."}'::jsonb end
    from (
      select n, to_timestamp((${from}::float8 + (${until}::float8 - ${from}::float8) * n / ${runs}::integer) / 1000) as at,
             case when n % 100 < 2 then 'permanently_failed' when n % 100 = 2 then 'cancelled' when n % 100 = 3 then 'skipped'
                  else 'completed' end as state,
             ${`{${taskIds.join(',')}}`}::uuid[] as task_ids
      from generate_series(0, ${runs}::integer - 1) as n
    ) made`)
}
