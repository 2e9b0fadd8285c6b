/** Counting history by the minute, and reading what was counted. */
import { addBuckets, LATENESS_BOUNDS, type LatenessBuckets } from '../../core/run/lateness.ts'
import { list, sql } from '../database/sql.ts'

/** What became of the runs that ended within one minute. */
export interface Tally {
  readonly projectId: string
  /** When the minute begins. */
  readonly minute: number
  readonly completed: number
  readonly permanentlyFailed: number
  readonly cancelled: number
  /** Occurrences that did not run. */
  readonly skipped: number
  /** Those of them that came due while nobody was there, or whose row was gone. */
  readonly missed: number
  readonly late: LatenessBuckets
}

/** Runs of one project and minute that have the rest in common. */
interface Group {
  readonly projectId: string
  readonly minute: number
  readonly state: 'completed' | 'permanently_failed' | 'cancelled' | 'skipped'
  readonly isMissed: boolean
  readonly bucket: number | null
  readonly runs: number
  readonly occurrences: number
}

/** Occurrences that a skip stands for when they were too many to count. */
const UNCOUNTED = 10_000

/** Runs that ended between two instants, counted by what they have in common. Found by time, through the BRIN. */
export const groupRuns = ({ from, until }: { from: number; until: number }) => sql<Group>`
  select project_id as "projectId", date_trunc('minute', ended_at) as minute, state, coalesce(reason in ('misfire', 'lost'), false) as "isMissed",
         case when kind <> 'backfill' then width_bucket(late_ms, ${list(LATENESS_BOUNDS, (bound) => bound)}::bigint[]) end as bucket, count(*)::integer as runs,
         sum(case when covers_until is null then 1 else coalesce(covers_count, ${UNCOUNTED}::integer) end)::integer as occurrences
  from run
  where ended_at >= to_timestamp(${from}::float8 / 1000) and ended_at < to_timestamp(${until}::float8 / 1000)
  group by 1, 2, 3, 4, 5`

const COUNTED_AS = {
  completed: 'completed',
  permanently_failed: 'permanentlyFailed',
  cancelled: 'cancelled',
} as const

/** The groups of each project and minute as one. */
export function talliesOf(groups: readonly Group[]): Tally[] {
  const tallies = new Map<string, Writable<Tally>>()
  for (const { projectId, minute, state, isMissed, bucket, runs, occurrences } of groups) {
    const key = `${projectId} ${minute}`
    const tally = tallies.get(key) ?? { ...NOTHING, projectId, minute, late: {} }
    tallies.set(key, tally)
    if (state === 'skipped') {
      tally.skipped += occurrences
      if (isMissed) tally.missed += occurrences
    } else tally[COUNTED_AS[state]] += runs
    if (bucket !== null) tally.late = addBuckets([tally.late, { [bucket]: runs }])
  }
  return [...tallies.values()]
}

type Writable<T> = { -readonly [K in keyof T]: T[K] }

const NOTHING = { completed: 0, permanentlyFailed: 0, cancelled: 0, skipped: 0, missed: 0 }

/** Stores minutes, in the place of what was counted of them before. */
export const saveTallies = (tallies: readonly Tally[]) => sql`
  insert into tally (project_id, minute, completed, permanently_failed, cancelled, skipped, missed, late)
  select project_id, to_timestamp(minute / 1000), completed, permanently_failed, cancelled, skipped, missed, late
  from unnest(${list(tallies, (t) => t.projectId)}::uuid[], ${list(tallies, (t) => t.minute)}::float8[],
              ${list(tallies, (t) => t.completed)}::integer[], ${list(tallies, (t) => t.permanentlyFailed)}::integer[],
              ${list(tallies, (t) => t.cancelled)}::integer[], ${list(tallies, (t) => t.skipped)}::integer[],
              ${list(tallies, (t) => t.missed)}::integer[], ${list(tallies, (t) => JSON.stringify(t.late))}::jsonb[])
    as i(project_id, minute, completed, permanently_failed, cancelled, skipped, missed, late)
  on conflict (project_id, minute) do update set completed = excluded.completed, permanently_failed = excluded.permanently_failed,
    cancelled = excluded.cancelled, skipped = excluded.skipped, missed = excluded.missed, late = excluded.late`

/** For the rest of the transaction: a day that was not analysed yet must not be read whole for one minute of it. */
export const readByIndex = () => sql`select set_config('enable_seqscan', 'off', true)`

/** How far the counting has come, for whoever goes on with it; no row when somebody else is at it. */
export const holdProgress = () => sql<{ countedUntil: number; now: number }>`
  select counted_until as "countedUntil", clock_timestamp() as now from tally_progress for update skip locked`

export const saveProgress = (countedUntil: number) => sql`
  update tally_progress set counted_until = to_timestamp(${countedUntil}::float8 / 1000)`

export const readProgress = () => sql<{ countedUntil: number }>`
  select counted_until as "countedUntil" from tally_progress`

/** What was counted of a project from an instant on, oldest minute first. */
export const readTallies = ({ projectId, from }: { projectId: string; from: number }) => sql<Tally>`
  select project_id as "projectId", minute, completed, permanently_failed as "permanentlyFailed", cancelled, skipped, missed, late
  from tally where project_id = ${projectId} and minute >= to_timestamp(${from}::float8 / 1000) order by minute`

/** What was counted of all projects between two instants, oldest minute first. */
export const talliesBetween = ({ from, until }: { from: number; until: number }) => sql<Tally>`
  select project_id as "projectId", minute, completed, permanently_failed as "permanentlyFailed", cancelled, skipped, missed, late
  from project p
  cross join lateral (
    select * from tally where project_id = p.id and minute >= to_timestamp(${from}::float8 / 1000)
      and minute < to_timestamp(${until}::float8 / 1000)
  ) t
  order by minute`

export const forgetTallies = (olderThanDays: number) => sql`
  delete from tally where minute < now() - make_interval(days => ${olderThanDays}::integer)`
