/** The partitions that the audit log is kept in, a month each. */
import { sql } from '../database/sql.ts'

/** Partitions exist this many months ahead. */
const PARTITION_MONTHS_AHEAD = 3

/** Makes what is missing of this month's partition and those to come. */
export const ensureAuditPartitions = () =>
  sql<{ made: number }>`select ensure_audit_partitions(${PARTITION_MONTHS_AHEAD}) as made`

/** Drops a partition all of whose entries are older than `days`; fails when it would have to wait. */
export const dropAuditPartitions = (days: number) =>
  sql<{ dropped: number }>`select drop_audit_partitions(${days}) as dropped`
