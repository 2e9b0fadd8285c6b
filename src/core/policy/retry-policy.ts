/**
 * When to try a failed run again. The backoff doubles with each failure up to a maximum. Half of it is always
 * waited and the other half is drawn at random ("equal jitter"): a receiver that fails a thousand runs at one
 * instant gets their retries spread out instead of as a second blow, and none of them comes back at once.
 */
export interface RetryPolicy {
  /** How many retries follow the first attempt: 3 means at most four attempts. */
  readonly limit: number
  /** The backoff before the first retry; every further retry doubles it. */
  readonly initialMs: number
  /** No backoff is longer than this. */
  readonly maxMs: number
}

export const DEFAULT_RETRY_POLICY: RetryPolicy = { limit: 3, initialMs: 1_000, maxMs: 30_000 }

/** A receiver may ask for patience with Retry-After, but not park a run for longer than this. */
export const RETRY_AFTER_CAP_MS = 3_600_000

/** 2^40 times any initial delay is beyond every maximum; higher powers would only risk `0 × Infinity`. */
const MAX_DOUBLINGS = 40

/** Whether a run that has failed this often is tried again. */
export const mayRetry = (policy: Pick<RetryPolicy, 'limit'>, failedAttempts: number): boolean =>
  failedAttempts <= policy.limit

/** The longest delay after the given number of failed attempts (1 after the first failure); the shortest is half of it. */
export function retryBackoff(policy: RetryPolicy, failedAttempts: number): number {
  const doublings = Math.min(Math.max(failedAttempts - 1, 0), MAX_DOUBLINGS)
  return Math.min(policy.maxMs, policy.initialMs * 2 ** doublings)
}

/**
 * Milliseconds to wait before the next attempt. `random` yields numbers in [0, 1) as Math.random does.
 * When the receiver said how long to stay away, the delay is at least that long, up to the cap.
 */
export function retryDelay(
  policy: RetryPolicy,
  failedAttempts: number,
  random: () => number,
  retryAfterMs = 0,
): number {
  const backoff = retryBackoff(policy, failedAttempts)
  const least = Math.ceil(backoff / 2)
  const jittered = least + Math.floor(random() * (backoff - least + 1))
  return Math.max(jittered, Math.min(retryAfterMs, RETRY_AFTER_CAP_MS))
}
