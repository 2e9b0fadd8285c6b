import type { Grant, Reach } from '../../core/access/role.ts'
import type { Actor } from '../context.ts'

/** An authenticated caller: a program with a key, a person who has signed in, or any caller of an open server. */
export interface Principal {
  readonly actor: Actor
  readonly grant: Grant
  /** The project that requests act in if they name none; null for `default`. */
  readonly homeProjectId: string | null
  readonly reach: Reach
  /**
   * Registers a listener that is called when the credential is no longer valid, for long requests: streams, and workers that
   * wait for runs. Returns a function that unsubscribes. Absent if the credential cannot end.
   */
  readonly onEnd?: (listener: () => void) => () => void
}
