/** What the performer of a single attempt says about it, with the token of the attempt. */
import type { TokenAttempt } from '../core/access/token-attempt.ts'

/** How an attempt ended. */
export type AttemptEnd = { readonly isSuccess: true } | { readonly isSuccess: false; readonly reason: string }

/** What api nodes hear about single attempts. */
export interface AttemptReports {
  /** Notes that the attempt goes on, and when. Refuses where it is over, or its worker is dead. */
  beat(attempt: TokenAttempt): Promise<number>
  /** Ends the attempt, once: whoever comes second is refused. Answers whether the run is tried again. */
  end(attempt: TokenAttempt, end: AttemptEnd): Promise<{ readonly isRetried: boolean }>
}
