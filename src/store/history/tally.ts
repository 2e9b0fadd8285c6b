/** Counts history by the minute, and reads the counts. */
import { addBuckets, LATENESS_BOUNDS, type LatenessBuckets } from '../../core/run/lateness.ts'
import { MAX_COUNTED } from '../../core/schedule/occurrences.ts'
import { list, sql } from '../database/sql.ts'
import { countAtMost } from './stored-count.ts'

/** Counts of the runs that ended within one minute. */
export interface Tally {
  readonly projectId: string
  /** The beginning of the minute. */
  readonly minute: number
  readonly completed: number
  readonly permanentlyFailed: number
  readonly cancelled: number
  /** Number of occurrences that did not run. */
  readonly skipped: number
  /** Number of skipped occurrences that were missed, plus those whose row was lost. */
  readonly missed: number
  readonly late: LatenessBuckets
}

/** Runs of one project and minute that agree in state, reason and lateness bucket. */
interface Group {
  readonly projectId: string
  readonly minute: number
  readonly state: 'completed' | 'permanently_failed' | 'cancelled' | 'skipped'
  readonly isMissedOrLost: boolean
  readonly bucket: number | null
  readonly runs: number
  readonly occurrences: number
}

/**
 * Groups the runs that ended between two instants. They are found by time, through the BRIN index. A skip that covers too many
 * occurrences to count adds the number that was counted.
 */
export const groupRuns = ({ from, until }: { from: number; until: number }) => sql<Group>`
  select project_id as "projectId", date_trunc('minute', ended_at) as minute, state, coalesce(reason in ('misfire', 'lost'), false) as "isMissedOrLost",
         case when kind <> 'backfill' then width_bucket(late_ms, ${list(LATENESS_BOUNDS, (bound) => bound)}::bigint[]) end as bucket, count(*)::integer as runs,
         sum(case when covers_until is null then 1 else coalesce(covers_count, ${MAX_COUNTED}::integer) end)::bigint as occurrences
  from run
  where ended_at >= to_timestamp(${from}::float8 / 1000) and ended_at < to_timestamp(${until}::float8 / 1000)
  group by 1, 2, 3, 4, 5`

const COUNTED_AS = {
  completed: 'completed',
  permanently_failed: 'permanentlyFailed',
  cancelled: 'cancelled',
} as const

/** Combines the groups of each project and minute into one tally. */
export function talliesOf(groups: readonly Group[]): Tally[] {
  const tallies = new Map<string, Writable<Tally>>()
  for (const { projectId, minute, state, isMissedOrLost, bucket, runs, occurrences } of groups) {
    const key = `${projectId} ${minute}`
    const tally = tallies.get(key) ?? { ...NOTHING, projectId, minute, late: {} }
    tallies.set(key, tally)
    if (state === 'skipped') {
      tally.skipped += occurrences
      if (isMissedOrLost) tally.missed += occurrences
    } else tally[COUNTED_AS[state]] += runs
    if (bucket !== null) tally.late = addBuckets([tally.late, { [bucket]: runs }])
  }
  return [...tallies.values()]
}

type Writable<T> = { -readonly [K in keyof T]: T[K] }

const NOTHING = { completed: 0, permanentlyFailed: 0, cancelled: 0, skipped: 0, missed: 0 }

/** Stores minutes, replacing earlier counts. */
export const saveTallies = (tallies: readonly Tally[]) => sql`
  insert into tally (project_id, minute, completed, permanently_failed, cancelled, skipped, missed, late)
  select project_id, to_timestamp(minute / 1000), completed, permanently_failed, cancelled, skipped, missed, late
  from unnest(${list(tallies, (t) => t.projectId)}::uuid[], ${list(tallies, (t) => t.minute)}::float8[],
              ${list(tallies, (t) => t.completed)}::integer[], ${list(tallies, (t) => t.permanentlyFailed)}::integer[],
              ${list(tallies, (t) => t.cancelled)}::integer[], ${list(tallies, (t) => countAtMost(t.skipped))}::integer[],
              ${list(tallies, (t) => countAtMost(t.missed))}::integer[], ${list(tallies, (t) => JSON.stringify(t.late))}::jsonb[])
    as i(project_id, minute, completed, permanently_failed, cancelled, skipped, missed, late)
  on conflict (project_id, minute) do update set completed = excluded.completed, permanently_failed = excluded.permanently_failed,
    cancelled = excluded.cancelled, skipped = excluded.skipped, missed = excluded.missed, late = excluded.late`

/**
 * Disables sequential scans for the rest of the transaction: a partition that has not been analysed yet must not be scanned as
 * a whole for one minute.
 */
export const readByIndex = () => sql`select set_config('enable_seqscan', 'off', true)`

/** Locks the counting progress; no row if another node is counting. */
export const holdProgress = () => sql<{ countedUntil: number; now: number }>`
  select counted_until as "countedUntil", clock_timestamp() as now from tally_progress for update skip locked`

export const saveProgress = (countedUntil: number) => sql`
  update tally_progress set counted_until = to_timestamp(${countedUntil}::float8 / 1000)`

export const readProgress = () => sql<{ countedUntil: number }>`
  select counted_until as "countedUntil" from tally_progress`

/** Returns the counts of a project from an instant on, oldest minute first. */
export const readTallies = ({ projectId, from }: { projectId: string; from: number }) => sql<Tally>`
  select project_id as "projectId", minute, completed, permanently_failed as "permanentlyFailed", cancelled, skipped, missed, late
  from tally where project_id = ${projectId} and minute >= to_timestamp(${from}::float8 / 1000) order by minute`

/** Returns the counts of all projects between two instants, oldest minute first. */
export const talliesBetween = ({ from, until }: { from: number; until: number }) => sql<Tally>`
  select project_id as "projectId", minute, completed, permanently_failed as "permanentlyFailed", cancelled, skipped, missed, late
  from project p
  cross join lateral (
    select * from tally where project_id = p.id and minute >= to_timestamp(${from}::float8 / 1000)
      and minute < to_timestamp(${until}::float8 / 1000)
  ) t
  order by minute`

export const deleteOldTallies = (olderThanDays: number) => sql`
  delete from tally where minute < now() - make_interval(days => ${olderThanDays}::integer)`
