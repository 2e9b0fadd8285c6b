/**
 * Reading what has been appended to the audit log since a frontier, as ended-runs.ts reads history: entries are found by time,
 * through the BRIN, and told apart by the number of their transaction. Every entry carries the instant at which its own
 * statement wrote it, so none is late.
 */
import type { RecordedEntry } from '../../core/audit-log/audit-event.ts'
import type { Place, Search } from '../../core/run/frontier.ts'
import { list, sql } from '../database/sql.ts'
import { type EndsQuery, pendingOf, type StraysQuery } from '../history/ended-runs.ts'
import { entryColumns } from './audit-log.ts'

/** Entries of a stretch of time that became visible between two frontiers, in order. */
export const entriesBetween = ({ from, to, fromUs, untilUs, after, limit }: EndsQuery) => sql<Place>`
  select e.id, (extract(epoch from e.at) * 1000000)::bigint as us from audit_entry e
  cross join lateral (select ${to.xmax}::bigint - ((${to.xmax}::bigint - e.xmin::text::bigint) & 4294967295) as xid) x
  where e.at >= to_timestamp(${fromUs}::float8 / 1000000)
    and e.at < coalesce(to_timestamp(${untilUs}::float8 / 1000000), 'infinity')
    and (${after?.id ?? null}::uuid is null
         or (e.at, e.id) > (to_timestamp(${after?.us ?? null}::float8 / 1000000), ${after?.id ?? null}::uuid))
    and (x.xid >= ${from.xmax}::bigint or x.xid = any(${pendingOf(from)}::bigint[]))
    and x.xid < ${to.xmax}::bigint and not x.xid = any(${pendingOf(to)}::bigint[])
  order by e.at, e.id limit ${limit}`

/** Entries that long transactions have stored, found by the numbers of those. */
export const entriesOfTransactions = ({
  long: { xids, fromUs },
  xmax,
  untilUs,
  after,
  limit,
}: StraysQuery & { long: NonNullable<Search['long']>; xmax: number }) => sql<Place>`
  select e.id, (extract(epoch from e.at) * 1000000)::bigint as us from audit_entry e
  where e.at >= to_timestamp(${fromUs}::float8 / 1000000) and e.at < to_timestamp(${untilUs}::float8 / 1000000)
    and (${after?.id ?? null}::uuid is null
         or (e.at, e.id) > (to_timestamp(${after?.us ?? null}::float8 / 1000000), ${after?.id ?? null}::uuid))
    and ${xmax}::bigint - ((${xmax}::bigint - e.xmin::text::bigint) & 4294967295) = any(${list(xids, (xid) => xid)}::bigint[])
  order by e.at, e.id limit ${limit}`

/** Entries by where they stand, in order. Each is found by its instant, which is one of few in its stretch of the BRIN. */
export const recordedEntries = ({
  places,
  xmax,
}: {
  places: readonly Place[]
  xmax: number
}) => sql<RecordedEntry>`
  select ${entryColumns}, i.us,
         ${xmax}::bigint - ((${xmax}::bigint - e.xmin::text::bigint) & 4294967295) as xid
  from audit_entry e
  join unnest(${list(places, ({ id }) => id)}::uuid[], ${list(places, ({ us }) => us)}::bigint[]) as i(id, us) on i.id = e.id
  where e.at >= to_timestamp(${Math.min(...places.map(({ us }) => us))}::float8 / 1000000)
    and e.at <= to_timestamp(${Math.max(...places.map(({ us }) => us))}::float8 / 1000000)
  order by e.at, e.id`

/** When the oldest month begins that the log is kept of. */
export const auditLogBegin = () => sql<{ at: number | null }>`
  select min(to_timestamp(right(c.relname, 6), 'YYYYMM')) as at
  from pg_inherits i join pg_class c on c.oid = i.inhrelid
  where i.inhparent = 'audit_entry'::regclass and c.relname <> 'audit_entry_other'`
