import { EVERYTHING, type Grant, type Reach, type Role, UNLIMITED } from '../core/access/role.ts'
import type { LimitValues } from '../core/action/exec-limits.ts'
import type { ScheduleLimits } from '../core/limits/limits.ts'
import type { Clock } from '../runtime/clock.ts'
import type { AddressSigner } from '../secrets/address-signer.ts'
import type { Vault } from '../secrets/vault.ts'
import type { Database } from '../store/database/database.ts'
import type { LaneRegistry } from '../transport/lane-registry.ts'
import type { WakeUps } from '../transport/wake-ups.ts'
import type { RefusedRequests } from './audit-log/refused-requests.ts'
import type { WriteCheck } from './server/write-check.ts'

/** What every call on a node works with: the database, its time, and a way to wake other parts. */
export interface Facilities {
  readonly db: Database
  /** Whether the database can be written to. It has a connection of its own. */
  readonly writeCheck: WriteCheck
  readonly clock: Clock
  readonly wakeUps: WakeUps
  readonly lanes: LaneRegistry
  /** The keys that secrets are encrypted with. */
  readonly vault: Vault
  /** Signs addresses, and tells which are good. */
  readonly addresses: AddressSigner
  /** How often nodes send a heartbeat. */
  readonly heartbeatMs: number
  /** A shard whose owner is silent for longer than this is unwatched. */
  readonly shardTakeoverMs: number
  /** Occurrences that were unwatched for no longer than this run late instead of being misfires. */
  readonly misfireGraceMs: number
  /** How long dead nodes are remembered. */
  readonly deadNodeMinutes: number
  /** Takes requests that are refused for who sent them, for the audit log. */
  readonly refusedRequests: Pick<RefusedRequests, 'note'>
  /** Limits of projects that set none of their own. */
  readonly limits: ScheduleLimits
  /** Bytes of the largest file. */
  readonly maxFileBytes: number
  /** The highest limits of programs, and the labels of the worker that they are of; null where this node runs none. */
  readonly programMaxima: ProgramMaxima | null
  /** Private networks that tasks of this installation may reach. */
  readonly privateReach: 'all' | readonly string[]
}

/** What a worker allows to the programs that it runs. */
export interface ProgramMaxima extends LimitValues {
  readonly network: boolean
  readonly labels: readonly string[]
}

/** Who calls an operation. */
export type Actor =
  /** A program with a key; `projectId` is null for a key of the installation. */
  | {
      readonly kind: 'key'
      readonly id: string
      readonly name: string
      readonly role: Role
      readonly projectId: string | null
      readonly address: string | null
    }
  /** Somebody who has signed in. */
  | { readonly kind: 'person'; readonly id: string; readonly name: string; readonly address: string | null }
  /** A worker that has registered, by its token. */
  | { readonly kind: 'worker'; readonly id: string; readonly address: string | null }
  /** Somebody without a credential: on an open server, or before they have signed in. */
  | { readonly kind: 'anonymous'; readonly address: string | null }
  /** Belfry itself. */
  | { readonly kind: 'system'; readonly part: string }

/** The request that a call comes from, as the audit log names it. */
export interface CallRequest {
  readonly id: string
  /** Why, in the caller's own words. */
  readonly reason: string | null
}

/** One call of an operation: in which project, who acts, and what they may do. */
export interface Call {
  readonly projectId: string
  readonly actor: Actor
  readonly grant: Grant
  readonly reach: Reach
  /** Absent for what Belfry does by itself. */
  readonly request?: CallRequest | undefined
}

/** What an operation gets. It is made for each call; nothing keeps one for later calls. */
export interface Context extends Facilities, Call {}

export const contextOf = (
  facilities: Facilities,
  { projectId, actor, grant, reach, request }: Call,
): Context => ({
  ...facilities,
  projectId,
  actor,
  grant,
  reach,
  request,
})

/** What a part of Belfry does by itself, in a project. */
export const systemCall = (part: string, projectId: string): Call => ({
  projectId,
  actor: { kind: 'system', part },
  grant: EVERYTHING,
  reach: UNLIMITED,
})

/** Who acts, in a few words for people: as a change is signed. */
export function nameOf(actor: Actor): string | null {
  switch (actor.kind) {
    case 'key':
      return `key ${actor.name}`
    case 'person':
      return actor.name
    case 'worker':
      return `worker ${actor.id}`
    case 'anonymous':
      return actor.address
    case 'system':
      return `belfry ${actor.part}`
  }
}
