/** Nodes: registration, heartbeats, and their deaths. */
import { list, sql } from '../database/sql.ts'

/** A node as it registers. */
export interface NewNode {
  readonly id: string
  readonly name: string
  readonly version: string
  readonly roles: readonly string[]
  readonly concurrency: number
  /** The labels that it offers to runs. */
  readonly labels?: readonly string[]
}

export const insertNode = (node: NewNode) => sql`
  insert into node (id, name, version, roles, concurrency, labels, renews_queues, secrets)
  values (${node.id}, ${node.name}, ${node.version}, ${node.roles}::text[], ${node.concurrency}, ${node.labels ?? []}::text[], true, 'no_key')`

/** Records a heartbeat. No row if this node was declared dead and must stop its work. */
export const beat = (nodeId: string) => sql<{ beat: number; now: number }>`
  update node set beat = beat + 1, beat_at = clock_timestamp() where id = ${nodeId} and dead_at is null
  returning beat, clock_timestamp() as now`

/** Returns the database's time to the microsecond. */
export const readClock = () => sql<{ now: number }>`
  select date_part('epoch', clock_timestamp()) * 1000 as now`

/** A node that was not declared dead, as other nodes see it. */
export interface LivingNode {
  readonly id: string
  readonly name: string
  readonly roles: readonly string[]
  readonly beat: number
}

export const livingNodes = () => sql<LivingNode>`select id, name, roles, beat from node where dead_at is null`

/**
 * Declares a node dead, unless it has sent a heartbeat since it was examined. The lock for update waits for claims in progress
 * for the node: once this is committed, there will be no more of them.
 */
export const declareDead = ({
  nodeId,
  beat,
  reason,
}: {
  nodeId: string
  beat: number | null
  reason: 'lost' | 'stopped'
}) => sql<{ id: string }>`
  with locked as (
    select id from node
    where id = ${nodeId} and dead_at is null and (${beat}::bigint is null or beat = ${beat}::bigint)
    for update
  )
  update node n set dead_at = clock_timestamp(), reason = ${reason} from locked where n.id = locked.id
  returning n.id`

/** A node, and the heartbeat counter at which it was last seen. */
export interface SilentNode {
  readonly id: string
  readonly beat: number
}

/** Declares nodes dead that have sent no heartbeat since they were examined, in the same way. */
export const declareSilentDead = (nodes: readonly SilentNode[]) => sql<{ id: string; name: string }>`
  with asked as materialized (
    select * from unnest(${list(nodes, (node) => node.id)}::uuid[], ${list(nodes, (node) => node.beat)}::bigint[]) as i(id, beat)
  ), locked as (
    select n.id from node n join asked i on i.id = n.id
    where n.dead_at is null and n.beat = i.beat
    order by n.id for update of n
  )
  update node n set dead_at = clock_timestamp(), reason = 'lost' from locked where n.id = locked.id
  returning n.id, n.name`

/** Returns dead nodes that may still lease runs. */
export const unburiedNodes = () =>
  sql<{ id: string }>`select id from node where dead_at is not null and buried_at is null`

/** Records that these nodes lease no more runs, so that they are not checked again. */
export const buryNodes = (ids: readonly string[]) => sql`
  update node set buried_at = now() where id = any(${list(ids, (id) => id)}::uuid[]) and dead_at is not null`

/** Deletes nodes that have been dead for a long time and lease no runs. */
export const deleteDeadNodes = (olderThanMinutes: number) => sql`
  delete from node n where dead_at < now() - make_interval(mins => ${olderThanMinutes}::integer)
    and not exists (select from agenda where worker_id = n.id)`

/** Deletes dead remote workers that never made a claim. They are kept for a shorter time than other dead nodes. */
export const deleteUnusedWorkers = (olderThanMinutes: number, limit: number) => sql`
  delete from node where id = any(array(
    select n.id from node n join remote_worker w on w.id = n.id
    where w.claim_id is null and n.buried_at is not null
      and n.dead_at < now() - make_interval(mins => ${olderThanMinutes}::integer)
    limit ${limit}))`
