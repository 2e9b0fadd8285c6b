/** Limits of keys: a new key never gets wider limits than its creator has; an admin can change them. */
import { type Problem, Refusal } from '../../core/errors.ts'
import { inWords, type KeyLimits, NO_KEY_LIMITS } from '../../core/limits/limits.ts'
import { ratePolicy } from '../../core/limits/rate-policy.ts'

/** For each limit, whether the first value is stricter than the second. */
const IS_STRICTER: { readonly [K in keyof KeyLimits]: (a: never, b: never) => boolean } = {
  minPeriodMs: (a: number, b: number) => a > b,
  maxAheadMs: (a: number, b: number) => a < b,
  requestRate: (a: string, b: string) => ratePolicy(a).gapMs > ratePolicy(b).gapMs,
  maxPayloadBytes: (a: number, b: number) => a < b,
}

/** Returns the limits of a new key: those requested, or those of its creator if none were; null for none. */
export function limitsWithin(
  own: KeyLimits | null,
  wanted: KeyLimits | null,
  refuse: (problem: Problem) => void,
): KeyLimits | null {
  if (own === null) return orNone(wanted)
  const shown: Readonly<Record<string, unknown>> = inWords(own)
  const limits: Record<string, unknown> = { ...(wanted ?? NO_KEY_LIMITS) }
  for (const name of Object.keys(IS_STRICTER) as (keyof KeyLimits)[]) {
    if (own[name] === null) continue
    if (limits[name] === null) limits[name] = own[name]
    const pointer = name.replace(/Ms$/, '')
    if (IS_STRICTER[name](own[name] as never, limits[name] as never))
      refuse({
        pointer: `/limits/${pointer}`,
        detail: `must not exceed that of your own key: ${shown[pointer]}`,
      })
  }
  return limits as unknown as KeyLimits
}

/** Returns whether `limits` allow anything that `others` do not. */
export function exceeds(limits: KeyLimits | null, others: KeyLimits | null): boolean {
  const names = Object.keys(IS_STRICTER) as (keyof KeyLimits)[]
  return names.some((name) => {
    const [given, allowed] = [limits?.[name] ?? null, others?.[name] ?? null]
    return allowed !== null && (given === null || IS_STRICTER[name](allowed as never, given as never))
  })
}

/** Returns null for limits that limit nothing. */
export const orNone = (limits: KeyLimits | null): KeyLimits | null =>
  limits !== null && Object.values(limits).some((value) => value !== null) ? limits : null

/** Rejects limits that no schedule can meet. */
export function refuseNoRoom({ minPeriodMs, maxAheadMs }: KeyLimits): void {
  if (minPeriodMs === null || maxAheadMs === null || minPeriodMs <= maxAheadMs) return
  const detail = 'must not be greater than maxAhead'
  throw new Refusal('invalid_input', `/limits/minPeriod ${detail}.`, {
    problems: [{ pointer: '/limits/minPeriod', detail }],
  })
}
