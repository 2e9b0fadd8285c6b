/** The daily partitions of history. */
import { sql } from '../database/sql.ts'

/** Number of days for which partitions are created ahead. */
export const PARTITION_DAYS_AHEAD = 7

/** Creates the missing partitions of today and the days ahead. */
export const ensurePartitions = () =>
  sql<{ made: number }>`select ensure_partitions(${PARTITION_DAYS_AHEAD}) as made`

/** Creates the partitions for the day of an instant if they are missing; null means today. */
export const ensurePartitionsOf = (instant: number | null) =>
  sql<{
    made: number
  }>`select ensure_partitions_of(coalesce(to_timestamp(${instant}::float8 / 1000), now())) as made`

/** Drops the partitions of days longer ago than `days`, a few at a time; fails instead of waiting for a lock. */
export const dropPartitions = (days: number) =>
  sql<{ dropped: number }>`select drop_partitions(${days}) as dropped`

/**
 * Summarises the latest ranges of the BRIN index, so that recently ended runs can be found by time even if autovacuum has not
 * done it.
 */
export const summariseHistory = () => sql<{ ranges: number }>`select summarise_history() as ranges`
