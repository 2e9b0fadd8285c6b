/**
 * Request quotas that all nodes share. A row keeps one instant, `next_at`: when the next request would be due if they were
 * spread evenly. Requests may come before that by as much as the quota holds. Nothing has to be refilled, and a row that is
 * lost is a quota that is full.
 */
import { list, sql } from '../database/sql.ts'

/** What a node asks of a quota. */
export interface QuotaRequest {
  readonly id: string
  readonly gapMs: number
  readonly burst: number
  /** Requests that count in any case; less than zero for what is given back. */
  readonly owed: number
  /** Requests to lease, as many as there are. */
  readonly wanted: number
}

/** What a quota answers. */
export interface QuotaGrant {
  readonly id: string
  readonly granted: number
  readonly left: number
  readonly opensInMs: number
}

/**
 * Counts and leases requests; a quota without a row is left out. Quotas are locked in the order of their ids. A clock that was
 * set back makes `next_at` look far away: whoever takes brings it back to twice what the quota holds, and a second. Whoever only
 * gives back does not: it may not have heard that the rate is another by now, by which that is not far.
 */
export const leaseRequests = (requests: readonly QuotaRequest[]) => sql<QuotaGrant>`
  with asked as materialized (
    select * from unnest(
      ${list(requests, ({ id }) => id)}::uuid[], ${list(requests, ({ gapMs }) => gapMs * 1_000)}::float8[], ${list(requests, ({ burst }) => burst)}::float8[],
      ${list(requests, ({ owed }) => owed)}::float8[], ${list(requests, ({ wanted }) => wanted)}::float8[]) as a(id, gap, burst, owed, wanted)
  ), locked as materialized (
    select id, next_at from request_quota where id in (select id from asked) order by id for update
  ), owing as materialized (
    select a.*, c.at, greatest(0, a.owed * a.gap + greatest(0, least(
      extract(epoch from l.next_at - c.at)::float8 * 1000000,
      case when a.owed < 0 then 'infinity' else 2 * a.burst * a.gap + 1000000 end))) as ahead
    from asked a join locked l on l.id = a.id cross join lateral (select clock_timestamp() as at from locked limit 1) c
  ), leased as materialized (
    select o.*, greatest(0, least(o.wanted, floor(o.burst - o.ahead / o.gap + 0.000001))) as granted from owing o
  ), kept as (
    update request_quota q set next_at = l.at + (l.ahead + l.granted * l.gap) * interval '1 microsecond'
    from leased l where q.id = l.id
  )
  select id, granted, burst - ahead / gap - granted as left,
         greatest(0, ahead + (granted - burst + 1) * gap) / 1000 as "opensInMs"
  from leased`

/** Makes quotas known; they are full. */
export const insertQuotas = (ids: readonly string[]) => sql`
  insert into request_quota (id, next_at) select id, clock_timestamp() from unnest(${list(ids, (id) => id)}::uuid[]) as i(id)
  on conflict do nothing`

/** Forgets quotas that have been full for so long that nobody may need them any more. */
export const forgetQuotas = (minutes: number, limit: number) => sql<{ id: string }>`
  delete from request_quota where id = any(array(
    select id from request_quota where next_at < now() - make_interval(mins => ${minutes}::integer) limit ${limit} for update skip locked))
  returning id`

/** By how much the requests of a quota are ahead of an even spread; no row while nothing was counted. */
export const aheadOf = (id: string) => sql<{ aheadMs: number }>`
  select greatest(0, extract(epoch from next_at - clock_timestamp()) * 1000)::float8 as "aheadMs" from request_quota where id = ${id}`
