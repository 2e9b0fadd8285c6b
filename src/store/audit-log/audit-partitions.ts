/** The monthly partitions of the audit log. */
import { sql } from '../database/sql.ts'

/** Number of months for which partitions are created ahead. */
const PARTITION_MONTHS_AHEAD = 3

/** Creates the missing partitions of this month and the months ahead. */
export const ensureAuditPartitions = () =>
  sql<{ made: number }>`select ensure_audit_partitions(${PARTITION_MONTHS_AHEAD}) as made`

/** Drops a partition if all of its entries are older than `days`; fails instead of waiting for a lock. */
export const dropAuditPartitions = (days: number) =>
  sql<{ dropped: number }>`select drop_audit_partitions(${days}) as dropped`
