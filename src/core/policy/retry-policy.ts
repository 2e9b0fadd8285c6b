/**
 * When to retry a failed run. The backoff doubles with each failure up to a maximum. Half of it is always waited and the other
 * half is random ("equal jitter"): if a receiver fails a thousand runs at once, their retries are spread out instead of
 * arriving together, and none of them arrives immediately.
 */
export interface RetryPolicy {
  /** Maximum number of retries after the first attempt: 3 means at most four attempts. */
  readonly limit: number
  /** The backoff before the first retry; every further retry doubles it. */
  readonly initialMs: number
  /** Maximum backoff. */
  readonly maxMs: number
}

export const DEFAULT_RETRY_POLICY: RetryPolicy = { limit: 3, initialMs: 1_000, maxMs: 30_000 }

/** Maximum delay that a receiver can request with Retry-After. */
export const RETRY_AFTER_CAP_MS = 3_600_000

/** 2^40 times any initial delay is beyond every maximum; higher powers would only risk `0 × Infinity`. */
const MAX_DOUBLINGS = 40

/** Whether a run with this many failed attempts is retried. */
export const mayRetry = (policy: Pick<RetryPolicy, 'limit'>, failedAttempts: number): boolean =>
  failedAttempts <= policy.limit

/** The longest delay after the given number of failed attempts (1 after the first failure); the shortest is half of it. */
export function retryBackoff(policy: RetryPolicy, failedAttempts: number): number {
  const doublings = Math.min(Math.max(failedAttempts - 1, 0), MAX_DOUBLINGS)
  return Math.min(policy.maxMs, policy.initialMs * 2 ** doublings)
}

/**
 * Milliseconds to wait before the next attempt. `random` returns numbers in [0, 1) as Math.random does. If the receiver
 * requested a delay, the result is at least that long, up to the cap.
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
