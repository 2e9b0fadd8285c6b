/**
 * Reading what has been appended to history since a frontier; core/frontier.ts tells how that can be known. Rows are
 * found by time, through the BRIN, and told apart by the number of the transaction that stored them, which
 * every row carries anyway: nothing is written for whoever may want to follow.
 *
 * That number has 32 bits in a row. The bits above them follow from the last number given, since no row that is
 * looked at is 4 billion transactions old.
 */
import type { Frontier, Place, Search } from '../../core/run/frontier.ts'
import type { EndedRun } from '../../core/run/run-event.ts'
import type { CircuitEventRow } from '../../core/target/circuit-event.ts'
import { errorBytes } from '../database/page-bytes.ts'
import { list, sql } from '../database/sql.ts'

/** Takes a number for a transaction of our own. Whatever has a higher one took it after this instant. */
export const markTransactions = () => sql<{ xid: string; us: number }>`
  select pg_current_xact_id()::text as xid, (extract(epoch from statement_timestamp()) * 1000000)::bigint as us`

/** What this transaction sees. */
export const currentSnapshot = () => sql<{ snapshot: string }>`select pg_current_snapshot()::text as snapshot`

/** Which ends of a stretch of history to find. */
export interface EndsQuery {
  readonly from: Frontier
  readonly to: Frontier
  /** The stretch of ends, with its beginning and without its end; null for everything after the beginning. */
  readonly fromUs: number
  readonly untilUs: number | null
  /** Only what stands behind this. */
  readonly after: Place | null
  readonly limit: number
  /** Only those of one stream, such as a task; null for all. */
  readonly stream: string | null
}

/** Transactions that a frontier has not seen the end of. */
export const pendingOf = (frontier: Frontier) => list(frontier.pending, ({ xid }) => xid)

/** Where an event stands: that of a run that ended, or of a circuit. */
export interface FoundPlace extends Place {
  readonly isCircuit: boolean
}

/** Ends, and circuits that opened or closed, in a stretch of time that became visible between two frontiers, in order. */
export const endsBetween = ({
  from,
  to,
  fromUs,
  untilUs,
  after,
  limit,
  stream,
}: EndsQuery) => sql<FoundPlace>`
  (select r.run_id as id, (extract(epoch from r.ended_at) * 1000000)::bigint as us, false as "isCircuit" from run r
  cross join lateral (select ${to.xmax}::bigint - ((${to.xmax}::bigint - r.xmin::text::bigint) & 4294967295) as xid) x
  where r.ended_at >= to_timestamp(${fromUs}::float8 / 1000000)
    and r.ended_at < coalesce(to_timestamp(${untilUs}::float8 / 1000000), 'infinity')
    and (${after?.id ?? null}::uuid is null
         or (r.ended_at, r.run_id) > (to_timestamp(${after?.us ?? null}::float8 / 1000000), ${after?.id ?? null}::uuid))
    and (${stream}::uuid is null or r.task_id = ${stream}::uuid)
    and (x.xid >= ${from.xmax}::bigint or x.xid = any(${pendingOf(from)}::bigint[]))
    and x.xid < ${to.xmax}::bigint and not x.xid = any(${pendingOf(to)}::bigint[])
  order by r.ended_at, r.run_id limit ${limit})
  union all
  (select e.id, (extract(epoch from e.at) * 1000000)::bigint as us, true from circuit_event e
  cross join lateral (select ${to.xmax}::bigint - ((${to.xmax}::bigint - e.xmin::text::bigint) & 4294967295) as xid) x
  where e.at >= to_timestamp(${fromUs}::float8 / 1000000)
    and e.at < coalesce(to_timestamp(${untilUs}::float8 / 1000000), 'infinity')
    and (${after?.id ?? null}::uuid is null
         or (e.at, e.id) > (to_timestamp(${after?.us ?? null}::float8 / 1000000), ${after?.id ?? null}::uuid))
    and (${stream}::uuid is null or e.line_id = ${stream}::uuid)
    and (x.xid >= ${from.xmax}::bigint or x.xid = any(${pendingOf(from)}::bigint[]))
    and x.xid < ${to.xmax}::bigint and not x.xid = any(${pendingOf(to)}::bigint[])
  order by e.at, e.id limit ${limit})
  order by us, id limit ${limit}`

/** Ends before a stretch of time that may have become visible while their like were looked for in it. */
export interface StraysQuery {
  readonly untilUs: number
  readonly after: Place | null
  readonly limit: number
}

/** Ends that were stored late, and therefore noted, from an instant on. */
export const lateEnds = ({
  storedFromUs,
  untilUs,
  after,
  limit,
}: StraysQuery & { storedFromUs: number }) => sql<FoundPlace>`
  select run_id as id, (extract(epoch from ended_at) * 1000000)::bigint as us, false as "isCircuit" from late_end
  where stored_at >= to_timestamp(${storedFromUs}::float8 / 1000000) and ended_at < to_timestamp(${untilUs}::float8 / 1000000)
    and (${after?.id ?? null}::uuid is null
         or (ended_at, run_id) > (to_timestamp(${after?.us ?? null}::float8 / 1000000), ${after?.id ?? null}::uuid))
  order by ended_at, run_id limit ${limit}`

/** Ends that long transactions have stored, found by the numbers of those. */
export const endsOfTransactions = ({
  long: { xids, fromUs },
  xmax,
  untilUs,
  after,
  limit,
}: StraysQuery & { long: NonNullable<Search['long']>; xmax: number }) => sql<FoundPlace>`
  (select r.run_id as id, (extract(epoch from r.ended_at) * 1000000)::bigint as us, false as "isCircuit" from run r
  where r.ended_at >= to_timestamp(${fromUs}::float8 / 1000000) and r.ended_at < to_timestamp(${untilUs}::float8 / 1000000)
    and (${after?.id ?? null}::uuid is null
         or (r.ended_at, r.run_id) > (to_timestamp(${after?.us ?? null}::float8 / 1000000), ${after?.id ?? null}::uuid))
    and ${xmax}::bigint - ((${xmax}::bigint - r.xmin::text::bigint) & 4294967295) = any(${list(xids, (xid) => xid)}::bigint[])
  order by r.ended_at, r.run_id limit ${limit})
  union all
  (select e.id, (extract(epoch from e.at) * 1000000)::bigint as us, true from circuit_event e
  where e.at >= to_timestamp(${fromUs}::float8 / 1000000) and e.at < to_timestamp(${untilUs}::float8 / 1000000)
    and (${after?.id ?? null}::uuid is null
         or (e.at, e.id) > (to_timestamp(${after?.us ?? null}::float8 / 1000000), ${after?.id ?? null}::uuid))
    and ${xmax}::bigint - ((${xmax}::bigint - e.xmin::text::bigint) & 4294967295) = any(${list(xids, (xid) => xid)}::bigint[])
  order by e.at, e.id limit ${limit})
  order by us, id limit ${limit}`

/** Errors that are longer than this are told by their code and the beginning of their message. */
const MAX_ERROR_BYTES = 4_096
const MAX_MESSAGE_CHARACTERS = 1_000

/** Ended runs by where they stand, in order, with what is known of their tasks. */
export const endedRuns = ({ places, xmax }: { places: readonly Place[]; xmax: number }) => sql<EndedRun>`
  select r.run_id as id, r.project_id as "projectId", r.task_id as "taskId", i.us,
         ${xmax}::bigint - ((${xmax}::bigint - r.xmin_number) & 4294967295) as xid,
         r.state, r.kind, r.reason, r.outcome, r.scheduled_for as "scheduledFor", r.started_at as "startedAt", r.ended_at as "endedAt",
         r.covers_until as "coversUntil", r.covers_count as "coversCount", r.late_ms as "lateMs", r.attempt, r.losses, r.version,
         (select retry_of from run_retry where run_id = r.run_id) as "retryOf",
         case when ${errorBytes} <= ${MAX_ERROR_BYTES}::integer then r.error
              when r.error is not null
              then jsonb_build_object('code', r.error ->> 'code', 'message', left(r.error ->> 'message', ${MAX_MESSAGE_CHARACTERS}::integer))
         end as error,
         t.name as "taskName", t.key as "taskKey", t.owner, t.tags, t.action_type as type,
         coalesce(d.definition ->> 'queue', 'default') as queue, d.definition ->> 'tracingId' as "tracingId"
  from unnest(${list(places, ({ id }) => id)}::uuid[], ${list(places, ({ us }) => us)}::bigint[]) as i(run_id, us)
  cross join lateral (
    select *, xmin::text::bigint as xmin_number from run
    where run_id = i.run_id and ended_at = to_timestamp(i.us::float8 / 1000000)
  ) r
  join task t on t.id = r.task_id
  cross join lateral (select definition_in_brief(t.definition, t.brief, t.version) as definition) d
  order by r.ended_at, r.run_id`

/** Circuits that opened or closed, by where they stand, in order. */
export const circuitEvents = ({
  places,
  xmax,
}: {
  places: readonly Place[]
  xmax: number
}) => sql<CircuitEventRow>`
  select e.id, e.project_id as "projectId", e.target, e.line_id as "lineId", i.us,
         ${xmax}::bigint - ((${xmax}::bigint - e.xmin::text::bigint) & 4294967295) as xid,
         e.event, e.opened_at as "openedAt", e.until, e.error
  from unnest(${list(places, ({ id }) => id)}::uuid[], ${list(places, ({ us }) => us)}::bigint[]) as i(id, us)
  join circuit_event e on e.id = i.id
  order by e.at, e.id`

/** Forgets ends that were stored late once history has forgotten them. */
export const forgetLateEnds = (olderThanDays: number) => sql`
  delete from late_end where stored_at < now() - make_interval(days => ${olderThanDays}::integer)`
