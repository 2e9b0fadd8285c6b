/** What the statements that fire rows have in common. */

import { list, part } from '../database/sql.ts'
import type { FireRequest } from './agenda.ts'

/**
 * `owned`: those of the shards that are still this node's. The key-share lock makes a new owner wait until the
 * statement has ended.
 */
export const ownedShards = ({
  nodeId,
  shards,
}: Pick<FireRequest, 'nodeId' | 'shards'>) => part`owned as materialized (
    select id from shard
    where (id, fence) in (select * from unnest(${list(shards, (s) => s.id)}::smallint[], ${list(shards, (s) => s.fence)}::bigint[]))
      and owner = ${nodeId}::uuid
    for key share
  )`

/** `alive`: the worker that what starts is given to, unless it was declared dead or there is none. */
export const livingWorker = (workerId: string | null) => part`alive as materialized (
    select id from node where id = ${workerId}::uuid and dead_at is null for key share
  )`

type Firings = FireRequest['firings']

/** Columns `run_id, shard, fence, start_now, exclusive` of what is to be fired. */
export const firedColumns = (firings: Firings) => part`
      ${list(firings, (f) => f.row.runId)}::uuid[], ${list(firings, (f) => f.row.shard)}::smallint[],
      ${list(firings, (f) => f.row.fence)}::integer[],
      ${list(firings, (f) => f.startNow)}::boolean[], ${list(firings, (f) => f.decision.exclusive)}::boolean[]`

/** Columns `skip_id, reason, until_ms, count, run_for_ms, next_run_id, next_ms, is_last, next_jitter_ms, run_for_jitter_ms`. */
export const decidedColumns = (firings: Firings) => part`
      ${list(firings, (f) => f.decision.skip?.runId ?? null)}::uuid[], ${list(firings, (f) => f.decision.skip?.reason ?? null)}::text[],
      ${list(firings, (f) => f.decision.skip?.until ?? null)}::float8[], ${list(firings, (f) => f.decision.skip?.count ?? null)}::integer[],
      ${list(firings, (f) => f.decision.runFor)}::float8[], ${list(firings, (f) => f.decision.next?.runId ?? null)}::uuid[],
      ${list(firings, (f) => f.decision.next?.at ?? null)}::float8[], ${list(firings, (f) => f.decision.isLast)}::boolean[],
      ${list(firings, (f) => f.decision.next?.jitterMs ?? null)}::integer[], ${list(firings, (f) => f.decision.runForJitterMs ?? null)}::integer[]`
