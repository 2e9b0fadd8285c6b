import type { Clock } from '../runtime/clock.ts'
import type { Database } from '../store/database/database.ts'
import type { ProjectLimits } from '../store/projects/projects.ts'
import type { LaneRegistry } from '../transport/lane-registry.ts'
import type { WakeUps } from '../transport/wake-ups.ts'
import type { WriteCheck } from './server/write-check.ts'

/** What every call on a node works with: the database, its time, and a way to wake other parts. */
export interface Facilities {
  readonly db: Database
  /** Whether the database can be written to. It has a connection of its own. */
  readonly writeCheck: WriteCheck
  readonly clock: Clock
  readonly wakeUps: WakeUps
  readonly lanes: LaneRegistry
  /** How often nodes send a heartbeat. */
  readonly heartbeatMs: number
  /** A shard whose owner is silent for longer than this is unwatched. */
  readonly shardTakeoverMs: number
  /** Occurrences that were unwatched for no longer than this run late instead of being misfires. */
  readonly misfireGraceMs: number
  /** How long dead nodes are remembered. */
  readonly deadNodeMinutes: number
  /** Limits of projects that set none of their own. */
  readonly limits: ProjectLimits
}

/** Who calls an operation: a client, known by its address, or Belfry itself. */
export type Actor =
  | { readonly kind: 'client'; readonly address: string | null }
  | { readonly kind: 'system'; readonly part: string }

/** The request that a call comes from, as the audit log names it. */
export interface CallRequest {
  readonly id: string
  /** Why, in the caller's own words. */
  readonly reason: string | null
}

/** One call of an operation: in which project, and who acts. */
export interface Call {
  readonly projectId: string
  readonly actor: Actor
  /** Absent for what Belfry does by itself. */
  readonly request?: CallRequest | undefined
}

/** What an operation gets. It is made for each call; nothing keeps one for later calls. */
export interface Context extends Facilities, Call {}

export const contextOf = (facilities: Facilities, { projectId, actor, request }: Call): Context => ({
  ...facilities,
  projectId,
  actor,
  request,
})
