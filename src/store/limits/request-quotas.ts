/**
 * Request quotas shared by all nodes. A row stores one instant, `next_at`: when the next request would be due if requests were
 * spread evenly. Requests may precede it by as much as the burst allows. Nothing has to be refilled, and a quota whose row is
 * lost is full.
 */
import { list, sql } from '../database/sql.ts'

/** A node's request to a quota. */
export interface QuotaRequest {
  readonly id: string
  readonly gapMs: number
  readonly burst: number
  /** Number of requests to count in any case; negative if requests are given back. */
  readonly owed: number
  /** Number of requests to lease, if that many are available. */
  readonly wanted: number
}

/** The result of a request to a quota. */
export interface QuotaGrant {
  readonly id: string
  readonly granted: number
  readonly left: number
  readonly opensInMs: number
}

/**
 * Counts and leases requests; a quota without a row is left out. Quotas are locked in the order of their ids. If the clock was
 * set back, `next_at` may appear far in the future: a request that takes from the quota limits it to twice the burst and a
 * second. A request that only gives back does not, because its node may not know yet that the rate has changed, and by the new
 * rate `next_at` may not be far.
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

/** Inserts quotas, which are full. */
export const insertQuotas = (ids: readonly string[]) => sql`
  insert into request_quota (id, next_at) select id, clock_timestamp() from unnest(${list(ids, (id) => id)}::uuid[]) as i(id)
  on conflict do nothing`

/** Deletes quotas that have been full long enough that they are probably no longer needed. */
export const deleteFullQuotas = (minutes: number, limit: number) => sql<{ id: string }>`
  delete from request_quota where id = any(array(
    select id from request_quota where next_at < now() - make_interval(mins => ${minutes}::integer) limit ${limit} for update skip locked))
  returning id`

/** By how much the requests of a quota are ahead of an even spread; no row if nothing was counted yet. */
export const aheadOf = (id: string) => sql<{ aheadMs: number }>`
  select greatest(0, extract(epoch from next_at - clock_timestamp()) * 1000)::float8 as "aheadMs" from request_quota where id = ${id}`
