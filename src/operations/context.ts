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

/** What every operation on a node needs: the database, its clock, and a way to wake other parts. */
export interface Facilities {
  readonly db: Database
  /** Checks whether the database accepts writes, over its own connection. */
  readonly writeCheck: WriteCheck
  readonly clock: Clock
  readonly wakeUps: WakeUps
  readonly lanes: LaneRegistry
  /** The keys that secrets are encrypted with. */
  readonly vault: Vault
  /** Signs addresses and verifies their signatures. */
  readonly addresses: AddressSigner
  /** How often nodes send a heartbeat. */
  readonly heartbeatMs: number
  /** A shard whose owner sends no heartbeat for longer than this is unwatched. */
  readonly shardTakeoverMs: number
  /** After an unwatched period no longer than this, the newest occurrence runs late under every misfire policy. */
  readonly misfireGraceMs: number
  /** For how long dead nodes are kept. */
  readonly deadNodeMinutes: number
  /** Collects requests that are rejected because of their sender, for the audit log. */
  readonly refusedRequests: Pick<RefusedRequests, 'note'>
  /** Limits of projects that set none of their own. */
  readonly limits: ScheduleLimits
  /** Maximum size of a file, in bytes. */
  readonly maxFileBytes: number
  /** The maximum limits of programs, and the labels of the worker that has them; null if this node runs no programs. */
  readonly programMaxima: ProgramMaxima | null
  /** Private networks that tasks of this installation may reach. */
  readonly privateReach: 'all' | readonly string[]
}

/** What a worker allows to the programs that it runs. */
export interface ProgramMaxima extends LimitValues {
  readonly network: boolean
  readonly labels: readonly string[]
}

/** The caller of an operation. */
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
  /** A person who has signed in. */
  | { readonly kind: 'person'; readonly id: string; readonly name: string; readonly address: string | null }
  /** A registered worker, identified by its token. */
  | { readonly kind: 'worker'; readonly id: string; readonly address: string | null }
  /** A caller without a credential: on an open server, or before signing in. */
  | { readonly kind: 'anonymous'; readonly address: string | null }
  /** Belfry itself. */
  | { readonly kind: 'system'; readonly part: string }

/** The request that a call comes from, as recorded in the audit log. */
export interface CallRequest {
  readonly id: string
  /** The reason that the caller gave. */
  readonly reason: string | null
}

/** One call of an operation: the project, the actor, and what the actor may do. */
export interface Call {
  readonly projectId: string
  readonly actor: Actor
  readonly grant: Grant
  readonly reach: Reach
  /** Absent if Belfry itself makes the call. */
  readonly request?: CallRequest | undefined
}

/** What an operation receives. It is created for each call and not kept for later calls. */
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

/** Returns a call that a part of Belfry itself makes, in a project. */
export const systemCall = (part: string, projectId: string): Call => ({
  projectId,
  actor: { kind: 'system', part },
  grant: EVERYTHING,
  reach: UNLIMITED,
})

/** Returns the actor's name for people, as recorded with a change. */
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
