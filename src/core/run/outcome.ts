/**
 * What became of one attempt. An outcome is a value, never an exception: whoever receives one switches
 * over `kind` exhaustively, so that a new kind cannot be forgotten anywhere.
 */

/** Why an attempt did not succeed, as it is stored and shown. `code` is stable, `message` is for people. */
export interface AttemptError {
  readonly code: string
  readonly message: string
  readonly detail?: Readonly<Record<string, unknown>>
}

export type Outcome =
  /** The action did what was asked; `output` is what is kept of the answer. */
  | { readonly kind: 'completed'; readonly output: unknown }
  /** The action failed; `retryAfterMs` is the receiver's own wish, already capped. */
  | {
      readonly kind: 'failed'
      readonly error: AttemptError
      readonly retryable: boolean
      readonly retryAfterMs?: number
      readonly output?: unknown
    }
  /** The attempt was cut off at its time limit. */
  | { readonly kind: 'timed_out'; readonly error: AttemptError; readonly output?: unknown }
  /** A user cancelled the run while the attempt was in progress. */
  | { readonly kind: 'cancelled'; readonly output?: unknown }
  /** The worker no longer holds the run; nothing about this attempt may be written. */
  | { readonly kind: 'lease_lost' }

export type OutcomeKind = Outcome['kind']
