/**
 * The result of one attempt. An outcome is a value, never an exception: callers switch over `kind` exhaustively, so the
 * compiler finds every place that must handle a new kind.
 */

/** Maximum number of characters of a reason that a program gives for its failure. */
export const MAX_FAILURE_CHARACTERS = 4_096

/** Why an attempt did not succeed, as it is stored and shown. `code` is stable, `message` is for people. */
export interface AttemptError {
  readonly code: string
  readonly message: string
  readonly detail?: Readonly<Record<string, unknown>>
}

export type Outcome =
  /** The action succeeded; `output` is the stored part of the response. */
  | { readonly kind: 'completed'; readonly output: unknown }
  /** The action failed; `retryAfterMs` is the delay that the receiver requested, already capped. */
  | {
      readonly kind: 'failed'
      readonly error: AttemptError
      readonly retryable: boolean
      readonly retryAfterMs?: number
      readonly output?: unknown
    }
  /** The attempt was stopped because its timeout was reached. */
  | { readonly kind: 'timed_out'; readonly error: AttemptError; readonly output?: unknown }
  /** A user cancelled the run while the attempt was in progress. */
  | { readonly kind: 'cancelled'; readonly output?: unknown }
  /** The worker no longer leases the run and must not write anything about this attempt. */
  | { readonly kind: 'lease_lost' }

export type OutcomeKind = Outcome['kind']
