/** Decides whether a failed transfer is tried again, and when. */
import { CliError, EXIT } from '../exit.ts'
import { RefusedError } from './problem.ts'

/** Maximum number of consecutive failures without progress. */
const MAX_FAILURES = 6
const FIRST_PAUSE_MS = 500
const LONGEST_PAUSE_MS = 8_000
/** A server that works may have no place for this long: transfers of others can take any time. */
export const MAX_WAIT_MS = 10 * 60_000

/** What happened since the transfer last made progress. */
export interface Tries {
  readonly failures: number
  /** How long the transfer waited for a place. */
  readonly waitedMs: number
}

export const NO_TRIES: Tries = { failures: 0, waitedMs: 0 }

/** The time until the next attempt, and what counts then; null if there is none. */
export function pauseAfter(
  error: unknown,
  { failures, waitedMs }: Tries,
): { readonly pauseMs: number; readonly tries: Tries } | null {
  const askedMs = (error instanceof RefusedError && error.retryAfterMs) || 0
  if (askedMs > 0 && isWithoutPlace(error)) {
    const tries = { failures, waitedMs: waitedMs + askedMs }
    return tries.waitedMs > MAX_WAIT_MS ? null : { pauseMs: askedMs, tries }
  }
  if (!mayPass(error) || failures >= MAX_FAILURES) return null
  const pauseMs = Math.max(askedMs, Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** failures))
  return { pauseMs, tries: { failures: failures + 1, waitedMs } }
}

/** Whether the server works, but has too many transfers or requests now. */
const isWithoutPlace = (error: unknown): boolean =>
  error instanceof RefusedError && (error.problem.code === 'busy' || error.problem.status === 429)

/** Whether to retry: the server was unreachable or busy, or an upload is at another position, from which it continues. */
const mayPass = (error: unknown): boolean =>
  error instanceof RefusedError
    ? error.problem.status === 503 || error.problem.code === 'upload_conflict'
    : error instanceof CliError && error.exitCode === EXIT.unreachable
