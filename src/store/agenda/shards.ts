/** Leases on slices of the due index. Of two nodes that want a shard exactly one gets it, with a new fence. */
import { list, part, sql } from '../database/sql.ts'

/**
 * The shards with what their owners last said: `beat` and `watched_until`. A node says that it watches in one row for
 * all of its shards, so that the rows of shards change only when they change hands.
 */
export const watchedShards = part`(
    select s.id, s.owner, s.fence, coalesce(w.beat, 0) as beat, greatest(s.watched_until, w.watched_until) as watched_until
    from shard s left join watch w on w.node_id = s.owner
  )`

/** A shard as others see it. */
export interface ShardRow {
  readonly id: number
  readonly owner: string | null
  readonly fence: number
  readonly beat: number
}

export const readShards = () => sql<ShardRow>`
  select id, owner, fence, beat from ${watchedShards} s order by id`

/** A shard that this node still owns, and until when it had said so before. */
export interface BeatenShard {
  readonly id: number
  readonly fence: number
  readonly watchedUntil: number
  readonly now: number
}

/** Which stretches count. */
interface Remembering {
  /** Shorter ones are the pause between two beats, and nobody was away. */
  readonly longerThanMs: number
  /** One that begins so soon after the one before goes on with it: nobody was there for long enough to fire anything. */
  readonly joinedMs: number
}

/**
 * Remembers the stretch before shards that are `back` were watched again, for whoever has them next. Until what came due in
 * it has been fired, everybody must take the same for missed, whoever had the shard meanwhile and for however short a time.
 */
const remembered = ({ longerThanMs, joinedMs }: Remembering) => part`remembered as (
    insert into unwatched (shard, from_at, until_at)
    select b.id, least(b.watched_until, before.from_at), clock_timestamp()
    from back b
    left join lateral (
      select from_at from unwatched u
      where u.shard = b.id and u.until_at > b.watched_until - ${joinedMs}::float8 * interval '1 millisecond'
      order by until_at desc limit 1
    ) before on true
    where clock_timestamp() - b.watched_until > ${longerThanMs}::float8 * interval '1 millisecond'
    on conflict do nothing
  )`

/** A stretch of time in which nobody watched a shard. */
export interface UnwatchedRow {
  readonly shard: number
  readonly from: number
  readonly to: number
}

/** The latest of such stretches of some shards, the last one included: what came due then and was not fired since was missed. */
export const unwatchedOf = (ids: readonly number[]) => sql<UnwatchedRow>`
  select u.* from unnest(${list(ids, (id) => id)}::smallint[]) as s(id)
  cross join lateral (
    select shard, from_at as from, until_at as to from unwatched where shard = s.id order by until_at desc limit ${MAX_STRETCHES}
  ) u`

/** An instant in a shard, and after how long a silence that one is anybody's. */
export interface ShardInstant {
  readonly shard: number
  readonly at: number
  readonly takeoverMs: number
}

/** The stretch in which nobody watched a shard and an instant lies, also one that is not over yet. */
export const unwatchedAt = ({ shard, at, takeoverMs }: ShardInstant) => sql<
  Pick<UnwatchedRow, 'from' | 'to'>
>`
  select from_at as from, until_at as to from (
    select from_at, until_at from unwatched where shard = ${shard}::smallint
    union all
    select watched_until, clock_timestamp() from ${watchedShards} s
    where id = ${shard}::smallint
      and (owner is null or clock_timestamp() - watched_until > ${takeoverMs}::float8 * interval '1 millisecond')
  ) u
  where from_at < to_timestamp(${at}::float8 / 1000) and to_timestamp(${at}::float8 / 1000) <= until_at
  order by until_at desc limit 1`

/** Stretches of one shard that are taken into account. */
const MAX_STRETCHES = 20

export const forgetUnwatched = (olderThanDays: number) => sql`
  delete from unwatched where until_at < now() - make_interval(days => ${olderThanDays}::integer)`

/** A node, and after how long a silence its shards are anybody's. */
export interface Watcher {
  readonly nodeId: string
  readonly takeoverMs: number
}

/** Says that this node is still watching its shards; answers with those that are in fact still its own. */
export const beatShards = (
  { nodeId, takeoverMs }: Watcher,
  held: readonly { id: number; fence: number }[],
) => sql<BeatenShard>`
  with beaten as (
    insert into watch (node_id, beat, watched_until) values (${nodeId}, 1, clock_timestamp())
    on conflict (node_id) do update set beat = watch.beat + 1, watched_until = excluded.watched_until
    returning watched_until
  ), back as materialized (
    select id, fence, watched_until from ${watchedShards} s where owner = ${nodeId}
  ), ${remembered({ longerThanMs: takeoverMs, joinedMs: takeoverMs })}
  select back.id, back.fence, back.watched_until as "watchedUntil", beaten.watched_until as now
  from beaten, back
  join unnest(${list(held, (h) => h.id)}::smallint[], ${list(held, (h) => h.fence)}::bigint[]) as h(id, fence) on h.id = back.id
  where back.fence = h.fence`

/** A shard that has just become ours. */
export interface TakenShard {
  readonly id: number
  readonly fence: number
}

/**
 * Takes shards that are free, or whose owner's beat still stands where it was seen. The lock for update
 * waits for a fire that the old owner has under way, so that there is never a fire of two owners at once.
 * An owner that beats in this very moment loses them all the same, and finds out by its next beat or fire.
 */
export function takeShards({ nodeId, takeoverMs }: Watcher, wanted: readonly ShardRow[]) {
  return sql<TakenShard>`
    with free as (
      select s.id, greatest(s.watched_until, w.watched_until) as watched_until from shard s
      join unnest(${list(wanted, (w) => w.id)}::smallint[], ${list(wanted, (w) => w.fence)}::bigint[], ${list(wanted, (w) => w.beat)}::bigint[]) as i(id, fence, beat) on i.id = s.id
      left join watch w on w.node_id = s.owner
      where s.fence = i.fence and coalesce(w.beat, 0) = i.beat
      order by s.id
      for update of s
    ), back as (select id, watched_until from free), ${remembered({ longerThanMs: 0, joinedMs: takeoverMs })}
    update shard s set owner = ${nodeId}, fence = s.fence + 1, watched_until = clock_timestamp()
    from free where s.id = free.id
    returning s.id, s.fence`
}

/** Gives shards up, so that others can take them at once. */
export const releaseShards = (nodeId: string, ids: readonly number[]) => sql<{ id: number }>`
  update shard set owner = null, watched_until = clock_timestamp()
  where owner = ${nodeId} and id = any(${ids}::smallint[])
  returning id`
