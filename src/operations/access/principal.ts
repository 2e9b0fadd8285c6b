import type { Grant, Reach } from '../../core/access/role.ts'
import type { Actor } from '../context.ts'

/** Somebody whose credential was found good: a program with a key, a person who has signed in, or anybody on an open server. */
export interface Principal {
  readonly actor: Actor
  readonly grant: Grant
  /** The project that they act in unless they name one; null: `default`. */
  readonly homeProjectId: string | null
  readonly reach: Reach
  /**
   * Calls back when the credential is no longer good, for requests that last: streams, and workers that wait for runs.
   * Returns how to unsubscribe. Absent where a credential cannot end.
   */
  readonly onEnd?: (listener: () => void) => () => void
}
