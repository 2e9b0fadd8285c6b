/** Reads what has been appended to history since a frontier: ends of runs, and the opening and closing of circuits. */
import type { Place } from '../../core/run/frontier.ts'
import type { EndedRun } from '../../core/run/run-event.ts'
import type { CircuitEventRow } from '../../core/target/circuit-event.ts'
import { errorBytes } from '../database/page-bytes.ts'
import { list, part, sql } from '../database/sql.ts'
import {
  type EndsQuery,
  type Followed,
  isAfter,
  type StraysQuery,
  storedBy,
  type TransactionsQuery,
  transactionOf,
  visibleBetween,
} from './visible-rows.ts'

/** Assigns an id to this transaction. Every transaction with a higher id got it after this instant. */
export const markTransactions = () => sql<{ xid: string; us: number }>`
  select pg_current_xact_id()::text as xid, (extract(epoch from statement_timestamp()) * 1000000)::bigint as us`

/** Returns the snapshot of this transaction. */
export const currentSnapshot = () => sql<{ snapshot: string }>`select pg_current_snapshot()::text as snapshot`

/** The columns of ends of runs and of circuit events. */
const END: Followed = { at: part`r.ended_at`, id: part`r.run_id`, xmin: part`r.xmin::text::bigint` }
const CIRCUIT: Followed = { at: part`e.at`, id: part`e.id`, xmin: part`e.xmin::text::bigint` }

/** The place of an event: the end of a run, or the opening or closing of a circuit. */
export interface FoundPlace extends Place {
  readonly isCircuit: boolean
}

/** Returns ends of runs, and circuit events, in a time range that became visible between two frontiers, in order. */
export const endsBetween = (query: EndsQuery) => sql<FoundPlace>`
  (select r.run_id as id, (extract(epoch from r.ended_at) * 1000000)::bigint as us, false as "isCircuit" from run r
  ${visibleBetween(END, query)}
    and (${query.stream}::uuid is null or r.task_id = ${query.stream}::uuid)
  order by r.ended_at, r.run_id limit ${query.limit})
  union all
  (select e.id, (extract(epoch from e.at) * 1000000)::bigint as us, true from circuit_event e
  ${visibleBetween(CIRCUIT, query)}
    and (${query.stream}::uuid is null or e.line_id = ${query.stream}::uuid)
  order by e.at, e.id limit ${query.limit})
  order by us, id limit ${query.limit}`

/** Returns ends that were stored late, and therefore recorded in `late_end`, from an instant on. */
export const lateEnds = ({
  storedFromUs,
  untilUs,
  after,
  limit,
}: StraysQuery & { storedFromUs: number }) => sql<FoundPlace>`
  select run_id as id, (extract(epoch from ended_at) * 1000000)::bigint as us, false as "isCircuit" from late_end
  where stored_at >= to_timestamp(${storedFromUs}::float8 / 1000000) and ended_at < to_timestamp(${untilUs}::float8 / 1000000)
    and ${isAfter({ at: part`ended_at`, id: part`run_id` }, after)}
  order by ended_at, run_id limit ${limit}`

/** Returns ends and circuit events that long transactions have stored, selected by their transaction ids. */
export const endsOfTransactions = (query: TransactionsQuery) => sql<FoundPlace>`
  (select r.run_id as id, (extract(epoch from r.ended_at) * 1000000)::bigint as us, false as "isCircuit" from run r
  ${storedBy(END, query)}
  order by r.ended_at, r.run_id limit ${query.limit})
  union all
  (select e.id, (extract(epoch from e.at) * 1000000)::bigint as us, true from circuit_event e
  ${storedBy(CIRCUIT, query)}
  order by e.at, e.id limit ${query.limit})
  order by us, id limit ${query.limit}`

/** A longer error is reduced to its code and the beginning of its message. */
const MAX_ERROR_BYTES = 4_096
const MAX_MESSAGE_CHARACTERS = 1_000

/** Returns ended runs by their places, in order, with data of their tasks. */
export const endedRuns = ({ places, xmax }: { places: readonly Place[]; xmax: number }) => sql<EndedRun>`
  select r.run_id as id, r.project_id as "projectId", r.task_id as "taskId", i.us,
         ${transactionOf(part`r.xmin_number`, xmax)} as xid,
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

/** Returns circuit events by their places, in order. */
export const circuitEvents = ({
  places,
  xmax,
}: {
  places: readonly Place[]
  xmax: number
}) => sql<CircuitEventRow>`
  select e.id, e.project_id as "projectId", e.target, e.line_id as "lineId", i.us,
         ${transactionOf(CIRCUIT.xmin, xmax)} as xid,
         e.event, e.opened_at as "openedAt", e.until, e.error
  from unnest(${list(places, ({ id }) => id)}::uuid[], ${list(places, ({ us }) => us)}::bigint[]) as i(id, us)
  join circuit_event e on e.id = i.id
  order by e.at, e.id`

/** Deletes the records of late ends whose runs retention has already deleted. */
export const deleteOldLateEnds = (olderThanDays: number) => sql`
  delete from late_end where stored_at < now() - make_interval(days => ${olderThanDays}::integer)`
