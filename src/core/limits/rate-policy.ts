/**
 * Request rates as they are written, such as `100/s` or `1000/m`: the number of requests per second, minute or hour, which is
 * also the burst.
 */
import { parseRate } from '../values/rate.ts'
import type { QuotaPolicy } from './leased-quota.ts'

/** Maximum rate that a node can count. */
export const MAX_REQUESTS_PER_SECOND = 100_000

/** A rate in numbers. */
export interface RatePolicy extends QuotaPolicy {
  /** The period that the rate refers to. */
  readonly windowSeconds: number
}

const known = new Map<string, RatePolicy>()
const MAX_KNOWN = 1_000

/** The policy of a rate that was validated before it was stored. */
export function ratePolicy(text: string): RatePolicy {
  const found = known.get(text)
  if (found) return found
  const parsed = parseRate(text, MAX_REQUESTS_PER_SECOND)
  if (!parsed.ok) throw new Error(`stored rate '${text}' ${parsed.reason}`)
  const burst = Number.parseInt(text, 10)
  const policy = { gapMs: parsed.gapMs, burst, windowSeconds: Math.round((parsed.gapMs * burst) / 1_000) }
  if (known.size >= MAX_KNOWN) known.clear()
  known.set(text, policy)
  return policy
}
