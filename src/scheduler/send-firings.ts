/** Fires rows with the cheapest statement that suits them. */

import { replaceMissed } from '../store/agenda/catch-up.ts'
import { type FireResult, fire } from '../store/agenda/fire.ts'
import { firePlain, fireRecurring, ONE_ROW_AN_OCCURRENCE } from '../store/agenda/fire-plain.ts'
import { fireWithOverlap, type OverlapFireResult } from '../store/agenda/fire-with-overlap.ts'
import { type Database, violatedConstraint } from '../store/database/database.ts'
import type { LocalWorker } from '../transport/local-worker.ts'
import type { Group, PlannedFiring } from './firing.ts'
import type { ShardLeases } from './shard-leases.ts'

/** Who fires, in which shards, and which worker may start the fired runs. */
export interface FiringParts {
  readonly nodeId: string
  readonly db: Database
  readonly leases: ShardLeases
  readonly worker: Pick<LocalWorker, 'id'> | null
}

export const ALL_AS_ASKED: FireResult = { isWorkerAlive: true, gone: [], blocked: [], lost: [] }

/** Returns the side lanes of firings; empty if, as usual, none waits in one. */
const sidesOf = (firings: readonly PlannedFiring[]): (number | null)[] =>
  firings.some(({ side }) => side != null) ? firings.map(({ side }) => side ?? null) : []

export async function sendFirings(
  { how, firings }: Group,
  parts: FiringParts,
): Promise<FireResult | OverlapFireResult | undefined> {
  const { db, nodeId, worker, leases } = parts
  const shards = shardsOf(firings, leases)
  const rows = firings.map(({ row }) => row)
  const workerId = worker && how !== 'queue' ? worker.id : null
  if (how === 'missed') {
    const [result] = await db.run(replaceMissed({ nodeId, shards, workerId, firings }))
    return result
  }
  if (how === 'overlap') {
    const [result] = await db.run(fireWithOverlap({ nodeId, shards, workerId, firings }))
    return result
  }
  const [result] = await db.run(
    how === 'start' || how === 'queue'
      ? firePlain({ nodeId, shards, workerId, rows, sides: sidesOf(firings) })
      : fire({ nodeId, shards, workerId, firings }),
  )
  return result
}

/**
 * Starts recurring runs on the worker of this process, all as planned, with the cheapest statement. Returns those that it left
 * alone because something is in their way.
 */
export async function startRecurring(
  firings: readonly PlannedFiring[],
  { db, nodeId, worker, leases }: FiringParts & { readonly worker: Pick<LocalWorker, 'id'> },
): Promise<ReadonlySet<string>> {
  const shards = shardsOf(firings, leases)
  const [result] = await db
    .run(fireRecurring({ nodeId, shards, workerId: worker.id, firings }))
    .catch((error) => {
      if (violatedConstraint(error) !== ONE_ROW_AN_OCCURRENCE) throw error
      return [{ left: firings.map(({ row }) => row.runId) }]
    })
  return new Set(result?.left)
}

const shardsOf = (firings: readonly PlannedFiring[], leases: ShardLeases) =>
  [...new Set(firings.map(({ row }) => row.shard))].flatMap((id) => leases.get(id) ?? [])
