/** Who is there and who watches what, as one answer each. */

import type { Counted } from '../../core/values/counted.ts'
import {
  heldByNodes,
  listNodes,
  listShards,
  type NodeRow,
  type ShardState,
} from '../../store/nodes/cluster.ts'
import type { Context } from '../context.ts'

const MAX_NODES_LISTED = 500
/** Rows at the beginning of each shard among which runs in progress are looked for. */
const MAX_EXAMINED_PER_SHARD = 500

/** A node, in a word how it is, and how much it holds. */
export interface NodeView extends NodeRow {
  readonly state: 'alive' | 'quiet' | 'dead'
  readonly why: 'stopped' | 'lost' | 'silent' | null
  readonly busy: Counted
}

/** All nodes and workers, with everything that they hold. */
export const allNodes = (context: Context): Promise<NodeView[]> => nodesOf(context, null)

/** The nodes, which serve every project, and the project's own workers, with what they hold of the project. */
export const nodesOfProject = (context: Context): Promise<NodeView[]> => nodesOf(context, context.projectId)

async function nodesOf({ db, heartbeatMs }: Context, projectId: string | null): Promise<NodeView[]> {
  const nodes = await db.run(listNodes({ projectId, limit: MAX_NODES_LISTED }))
  const query = heldByNodes({ projectId, maxPerShard: MAX_EXAMINED_PER_SHARD })
  const held = await db.snapshot((tx) => tx.run(query), { inOrder: true })
  const isCut = held[0]?.isCut ?? false
  return nodes.map((node) => {
    const count = held.find(({ nodeId }) => nodeId === node.id)?.runs ?? 0
    return {
      ...node,
      ...conditionOf(node, heartbeatMs),
      busy: { count, atLeast: isCut && node.deadAt === null },
    }
  })
}

/** A beat may come late; a node of which two are missing is one to look at. */
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

/** Owners speak each second and lose a shard after three; after this long nobody has taken it either. */
const UNWATCHED_AFTER_MS = 5_000

export const isWatched = ({ owner, silentMs }: Pick<ShardState, 'owner' | 'silentMs'>): boolean =>
  owner !== null && silentMs < UNWATCHED_AFTER_MS

export const allShards = ({ db }: Context): Promise<ShardState[]> => db.run(listShards())
