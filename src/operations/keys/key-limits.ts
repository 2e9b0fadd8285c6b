/** Limits of keys: nobody can give a key a limit that is higher than that of their own key. */
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

const NAMES = Object.keys(IS_STRICTER) as (keyof KeyLimits)[]

/** Returns the limits of a new key: those requested, or those of its creator if none were; null for none. */
export function limitsWithin(
  own: KeyLimits | null,
  wanted: KeyLimits | null,
  refuse: (problem: Problem) => void,
): KeyLimits | null {
  if (own === null) return orNone(wanted)
  const given = Object.entries(wanted ?? NO_KEY_LIMITS).map(([name, value]) => [
    name,
    value ?? own[name as keyof KeyLimits],
  ])
  return editedWithin(own, NO_KEY_LIMITS, Object.fromEntries(given), refuse)
}

/**
 * Returns the limits of a key after an edit; null for none. Limits that the edit leaves as they are may be higher than the
 * caller's own, and stay so.
 */
export function editedWithin(
  own: KeyLimits | null,
  before: KeyLimits,
  edit: Partial<KeyLimits>,
  refuse: (problem: Problem) => void,
): KeyLimits | null {
  const limits = { ...before, ...edit }
  for (const name of NAMES)
    if (own !== null && limits[name] !== before[name] && isBeyond(own, name, limits))
      refuse(beyond(own, name))
  return orNone(limits)
}

function beyond(own: KeyLimits, name: keyof KeyLimits): Problem {
  const shown: Readonly<Record<string, unknown>> = inWords(own)
  const pointer = name.replace(/Ms$/, '')
  return {
    pointer: `/limits/${pointer}`,
    detail: `must not exceed that of your own key: ${shown[pointer]}`,
  }
}

/** Returns whether `limits` allow anything that `others` do not. */
export const exceeds = (limits: KeyLimits | null, others: KeyLimits | null): boolean =>
  others !== null && NAMES.some((name) => isBeyond(others, name, limits ?? NO_KEY_LIMITS))

/** Returns whether one of the limits is higher than the allowed one; null is no limit. */
function isBeyond(allowed: KeyLimits, name: keyof KeyLimits, limits: KeyLimits): boolean {
  const [most, given] = [allowed[name], limits[name]]
  return most !== null && (given === null || IS_STRICTER[name](most as never, given as never))
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
