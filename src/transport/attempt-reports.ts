/** Reports of the process that performs a single attempt, authenticated by the token of the attempt. */
import type { TokenAttempt } from '../core/access/token-attempt.ts'

/** How an attempt ended. */
export type AttemptEnd = { readonly isSuccess: true } | { readonly isSuccess: false; readonly reason: string }

/** What api nodes accept about single attempts. */
export interface AttemptReports {
  /** Records that the attempt is still running and returns the time. Rejects if it is over or its worker is dead. */
  beat(attempt: TokenAttempt): Promise<number>
  /** Ends the attempt once: a second end is rejected. Returns whether the run is retried. */
  end(attempt: TokenAttempt, end: AttemptEnd): Promise<{ readonly isRetried: boolean }>
}
