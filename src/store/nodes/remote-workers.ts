/** Remote workers: who they are, what they offer, and their latest claims. */
import { list, sql } from '../database/sql.ts'
import type { NewNode } from './nodes.ts'

/** A worker that asks for runs, and which runs it may be given. */
export interface RemoteWorker {
  readonly id: string
  /** Its name as shown in lists. */
  readonly name: string
  readonly projectId: string
  readonly handlers: readonly string[]
  /** Its own labels, and those that represent the actions it performs (core/run/own-labels.ts). */
  readonly labels: readonly string[]
  /** The only queues from which it takes runs; null for all queues. */
  readonly queues: readonly string[] | null
  /** The API key that it registered with; null if the server requires none. */
  readonly keyId: string | null
}

/** A remote worker as registered. */
export interface RemoteWorkerRow extends RemoteWorker {
  readonly tokenHash: Buffer
}

/** The maximum numbers of living workers. */
export interface LivingLimits {
  readonly all: number
  readonly ofProject: number
}

/**
 * Inserts a remote worker: a node, and what it offers. No row if a maximum number of live workers is reached. Those of the
 * project are counted only if all projects together reach the maximum of one.
 */
export const insertRemoteWorker = (
  node: Omit<NewNode, 'roles' | 'id' | 'name'>,
  worker: RemoteWorkerRow,
  limits: LivingLimits,
) => sql<{ id: string }>`
  with living as materialized (
    select count(*) as count from node where dead_at is null and roles = '{remote}'
  ), made as (
    insert into node (id, name, version, roles, concurrency)
    select ${worker.id}, ${worker.name}, ${node.version}, '{remote}'::text[], ${node.concurrency}::integer
    from living
    where count < ${limits.all}::integer
      and (count < ${limits.ofProject}::integer
           or (select count(*) from remote_worker w join node n on n.id = w.id
               where w.project_id = ${worker.projectId}::uuid and n.dead_at is null) < ${limits.ofProject}::integer)
    returning id
  )
  insert into remote_worker (id, project_id, handlers, labels, queues, key_id, token_hash)
  select id, ${worker.projectId}::uuid, ${list(worker.handlers, (name) => name)}::text[], ${list(worker.labels, (label) => label)}::text[],
         ${worker.queues && list(worker.queues, (name) => name)}::text[], ${worker.keyId}::uuid, ${worker.tokenHash}::bytea
  from made returning id`

export const findRemoteWorker = (id: string) => sql<RemoteWorkerRow>`
  select w.id, n.name, w.project_id as "projectId", w.handlers, w.labels, w.queues, w.key_id as "keyId", w.token_hash as "tokenHash"
  from remote_worker w join node n on n.id = w.id where w.id = ${id}`

/** Stores what a worker offers from now on. No row if it is dead. */
export const changeOffer = (id: string, labels: readonly string[]) => sql<{ id: string }>`
  update remote_worker w set labels = ${list(labels, (label) => label)}::text[]
  where w.id = ${id} and exists (select from node n where n.id = w.id and n.dead_at is null)
  returning w.id`

/** The latest claim of a worker, whether it may make another, and what it offers. */
export interface LatestClaim {
  readonly labels: readonly string[]
  readonly claimId: string | null
  readonly runIds: readonly string[]
  readonly isDead: boolean
}

export const latestClaim = (id: string) => sql<LatestClaim>`
  select w.claim_id as "claimId", w.claim_runs as "runIds", w.labels, n.dead_at is not null as "isDead"
  from remote_worker w join node n on n.id = w.id where w.id = ${id}`

/** The same, with a lock that prevents other claims for the worker until the transaction ends. */
export const lockClaims = (id: string) => sql<LatestClaim>`
  select w.claim_id as "claimId", w.claim_runs as "runIds", w.labels, n.dead_at is not null as "isDead"
  from remote_worker w join node n on n.id = w.id where w.id = ${id} for update of w`

/** The same for several workers. */
export const latestClaims = (ids: readonly string[]) => sql<LatestClaim & { readonly id: string }>`
  select w.id, w.claim_id as "claimId", w.claim_runs as "runIds", w.labels, n.dead_at is not null as "isDead"
  from remote_worker w join node n on n.id = w.id where w.id = any(${list(ids, (id) => id)}::uuid[])`

/**
 * Records that a claim returned nothing, so that it is not made any more. No row if it was made at the last moment, the worker
 * has made another claim since, or the worker is dead.
 */
export const closeClaim = ({
  id,
  claimId,
  before,
}: {
  id: string
  claimId: string
  before: string | null
}) => sql<{ id: string }>`
  update remote_worker w set claim_id = ${claimId}, claim_runs = '{}'
  where w.id = ${id} and w.claim_id is not distinct from ${before}::uuid
    and exists (select from node n where n.id = w.id and n.dead_at is null)
  returning w.id`

export const rememberClaim = ({
  id,
  claimId,
  runIds,
}: {
  id: string
  claimId: string
  runIds: readonly string[]
}) => sql`
  update remote_worker set claim_id = ${claimId}, claim_runs = ${list(runIds, (run) => run)}::uuid[] where id = ${id}`
