/** Lists the nodes with their load, and the shards with their owners. */

import type { Counted } from '../../core/values/counted.ts'
import {
  leasedByNodes,
  listNodes,
  listShards,
  type NodeRow,
  type ShardState,
} from '../../store/nodes/cluster.ts'
import type { Context } from '../context.ts'

const MAX_NODES_LISTED = 500
/** Number of rows at the beginning of each shard among which runs in progress are counted. */
const MAX_EXAMINED_PER_SHARD = 500

/** A node, its state in a word, and how many runs it has leased. */
export interface NodeView extends NodeRow {
  readonly state: 'alive' | 'quiet' | 'dead'
  readonly why: 'stopped' | 'lost' | 'silent' | null
  readonly busy: Counted
}

/** Returns all nodes and workers, with the number of all runs that they have leased. */
export const allNodes = (context: Context): Promise<NodeView[]> => nodesOf(context, null)

/**
 * Returns the nodes, which serve every project, and the project's own workers, with the number of runs of the project that they
 * have leased.
 */
export const nodesOfProject = (context: Context): Promise<NodeView[]> => nodesOf(context, context.projectId)

async function nodesOf({ db, heartbeatMs }: Context, projectId: string | null): Promise<NodeView[]> {
  const nodes = await db.run(listNodes({ projectId, limit: MAX_NODES_LISTED }))
  const query = leasedByNodes({ projectId, maxPerShard: MAX_EXAMINED_PER_SHARD })
  const leased = await db.snapshot((tx) => tx.run(query), { inOrder: true })
  const isCut = leased[0]?.isCut ?? false
  return nodes.map((node) => {
    const count = leased.find(({ nodeId }) => nodeId === node.id)?.runs ?? 0
    return {
      ...node,
      ...conditionOf(node, heartbeatMs),
      busy: { count, atLeast: isCut && node.deadAt === null },
    }
  })
}

/** Tolerates one late heartbeat; a node that has missed two is shown as quiet. */
const MISSING_BEATS = 2.5

export function conditionOf(
  { deadAt, reason, silentMs }: Pick<NodeRow, 'deadAt' | 'reason' | 'silentMs'>,
  heartbeatMs: number,
): Pick<NodeView, 'state' | 'why'> {
  if (deadAt !== null) return { state: 'dead', why: reason ?? 'lost' }
  return silentMs > heartbeatMs * MISSING_BEATS
    ? { state: 'quiet', why: 'silent' }
    : { state: 'alive', why: null }
}

/** Owners send a heartbeat each second and lose a shard after three; after this long no other node has taken it over either. */
const UNWATCHED_AFTER_MS = 5_000

export const isWatched = ({ owner, silentMs }: Pick<ShardState, 'owner' | 'silentMs'>): boolean =>
  owner !== null && silentMs < UNWATCHED_AFTER_MS

export const allShards = ({ db }: Context): Promise<ShardState[]> => db.run(listShards())
