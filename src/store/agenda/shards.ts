/** Leases on shards of the due index. If two nodes want a shard, exactly one gets it, with a new fence. */
import { list, part, sql } from '../database/sql.ts'

/**
 * The shards with the last `beat` and `watched_until` of their owners. A node writes its beats to one row for all of its
 * shards, so that the rows of shards change only when they change hands.
 */
export const watchedShards = part`(
    select s.id, s.owner, s.fence, coalesce(w.beat, 0) as beat, greatest(s.watched_until, w.watched_until) as watched_until
    from shard s left join watch w on w.node_id = s.owner
  )`

/** A shard as other nodes see it. */
export interface ShardRow {
  readonly id: number
  readonly owner: string | null
  readonly fence: number
  readonly beat: number
}

export const readShards = () => sql<ShardRow>`
  select id, owner, fence, beat from ${watchedShards} s order by id`

/** A shard that this node still owns, and its `watched_until` before this beat. */
export interface BeatenShard {
  readonly id: number
  readonly fence: number
  readonly watchedUntil: number
  readonly now: number
}

/** Which unwatched periods are recorded. */
interface Remembering {
  /** A shorter period is the normal pause between two beats. */
  readonly longerThanMs: number
  /**
   * A period that begins this soon after the previous one extends it: between the two, the shard was not watched long enough to
   * fire anything.
   */
  readonly joinedMs: number
}

/**
 * Records the unwatched period that ends now for the shards in `back`, for their later owners. Until everything that came due
 * in the period is fired, every owner must treat the same occurrences as missed, no matter which nodes owned the shard since
 * and how briefly.
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

/** An unwatched period of a shard. */
export interface UnwatchedRow {
  readonly shard: number
  readonly from: number
  readonly to: number
}

/**
 * Returns the latest unwatched periods of some shards, including the last one: an occurrence that came due in one of them and
 * was not fired since was missed.
 */
export const unwatchedOf = (ids: readonly number[]) => sql<UnwatchedRow>`
  select u.* from unnest(${list(ids, (id) => id)}::smallint[]) as s(id)
  cross join lateral (
    select shard, from_at as from, until_at as to from unwatched where shard = s.id order by until_at desc limit ${MAX_STRETCHES}
  ) u`

/** An instant in a shard, and the silence of its owner after which any node may take the shard. */
export interface ShardInstant {
  readonly shard: number
  readonly at: number
  readonly takeoverMs: number
}

/** Returns the unwatched period of a shard that contains an instant, including a period that is not over yet. */
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

/** Maximum number of unwatched periods of a shard that are considered. */
const MAX_STRETCHES = 20

export const deleteOldUnwatched = (olderThanDays: number) => sql`
  delete from unwatched where until_at < now() - make_interval(days => ${olderThanDays}::integer)`

/** A node, and the silence of its owner after which any node may take a shard. */
export interface Watcher {
  readonly nodeId: string
  readonly takeoverMs: number
}

/** Records that this node still watches its shards; returns the given shards that it in fact still owns. */
export const beatShards = (
  { nodeId, takeoverMs }: Watcher,
  leased: readonly { id: number; fence: number }[],
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
  join unnest(${list(leased, (l) => l.id)}::smallint[], ${list(leased, (l) => l.fence)}::bigint[]) as l(id, fence) on l.id = back.id
  where back.fence = l.fence`

/** A shard that this node has just taken. */
export interface TakenShard {
  readonly id: number
  readonly fence: number
}

/**
 * Takes shards that are free, or whose owner has not beaten since they were read. The lock for update waits for a fire in
 * progress by the old owner, so that two owners never fire at once. An owner that beats at the same moment loses the shards
 * nevertheless, and learns it from its next beat or fire.
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

/** Releases shards, so that other nodes can take them at once. */
export const releaseShards = (nodeId: string, ids: readonly number[]) => sql<{ id: number }>`
  update shard set owner = null, watched_until = clock_timestamp()
  where owner = ${nodeId} and id = any(${ids}::smallint[])
  returning id`
