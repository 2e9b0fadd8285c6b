/** The partitions that history is kept in, a day each. */
import { sql } from '../database/sql.ts'

/** Partitions exist this many days ahead. */
export const PARTITION_DAYS_AHEAD = 7

/** Makes what is missing of today's partitions and those to come. */
export const ensurePartitions = () =>
  sql<{ made: number }>`select ensure_partitions(${PARTITION_DAYS_AHEAD}) as made`

/** Makes the partitions of the day of an instant, should they be missing; null: of today. */
export const ensurePartitionsOf = (instant: number | null) =>
  sql<{
    made: number
  }>`select ensure_partitions_of(coalesce(to_timestamp(${instant}::float8 / 1000), now())) as made`

/** Drops partitions of days longer ago than `days`, a few at a time; fails when it would have to wait. */
export const dropPartitions = (days: number) =>
  sql<{ dropped: number }>`select drop_partitions(${days}) as dropped`

/** Lets lists find by time what has ended lately, should autovacuum not have seen to it. */
export const summariseHistory = () => sql<{ ranges: number }>`select summarise_history() as ranges`
