/**
 * Reads the audit log entries appended since a frontier, as ended-runs.ts reads history: entries are found by time, through the
 * BRIN index, and selected by their transaction id. Every entry has the instant at which its own statement wrote it, so none is
 * late.
 */
import type { RecordedEntry } from '../../core/audit-log/audit-event.ts'
import type { Place } from '../../core/run/frontier.ts'
import { list, part, sql } from '../database/sql.ts'
import {
  type EndsQuery,
  type Followed,
  storedBy,
  type TransactionsQuery,
  transactionOf,
  visibleBetween,
} from '../history/visible-rows.ts'
import { entryColumns } from './audit-log.ts'

const ENTRY: Followed = { at: part`e.at`, id: part`e.id`, xmin: part`e.xmin::text::bigint` }

/** Returns the entries of a time range that became visible between two frontiers, in order. */
export const entriesBetween = (query: EndsQuery) => sql<Place>`
  select e.id, (extract(epoch from e.at) * 1000000)::bigint as us from audit_entry e
  ${visibleBetween(ENTRY, query)}
  order by e.at, e.id limit ${query.limit}`

/** Returns entries that long transactions have stored, selected by their transaction ids. */
export const entriesOfTransactions = (query: TransactionsQuery) => sql<Place>`
  select e.id, (extract(epoch from e.at) * 1000000)::bigint as us from audit_entry e
  ${storedBy(ENTRY, query)}
  order by e.at, e.id limit ${query.limit}`

/**
 * Returns entries by their places, in order. Each is found by its instant, which few entries share in its range of the BRIN
 * index.
 */
export const recordedEntries = ({
  places,
  xmax,
}: {
  places: readonly Place[]
  xmax: number
}) => sql<RecordedEntry>`
  select ${entryColumns}, i.us,
         ${transactionOf(ENTRY.xmin, xmax)} as xid
  from audit_entry e
  join unnest(${list(places, ({ id }) => id)}::uuid[], ${list(places, ({ us }) => us)}::bigint[]) as i(id, us) on i.id = e.id
  where e.at >= to_timestamp(${Math.min(...places.map(({ us }) => us))}::float8 / 1000000)
    and e.at <= to_timestamp(${Math.max(...places.map(({ us }) => us))}::float8 / 1000000)
  order by e.at, e.id`

/** Returns the beginning of the oldest month in the audit log. */
export const auditLogBegin = () => sql<{ at: number | null }>`
  select min(to_timestamp(right(c.relname, 6), 'YYYYMM')) as at
  from pg_inherits i join pg_class c on c.oid = i.inhrelid
  where i.inhparent = 'audit_entry'::regclass and c.relname <> 'audit_entry_other'`
