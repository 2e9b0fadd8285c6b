/**
 * Durations as people write them: `10ms`, `3s`, `1m30s`, `1.5h`, `2d`. This text is both the input and the stored form; the
 * engine computes with milliseconds. A duration is never negative, is a whole number of milliseconds, and always has a unit,
 * because some users would take a bare `5` for seconds and others for milliseconds.
 */

/** Much longer than any sensible duration; bounds the cost of parsing. */
export const MAX_DURATION_LENGTH = 64
/** Ten years of 365 days. A longer duration is probably a typing error, and sums with instants remain exact. */
export const MAX_DURATION_MS = 3_650 * 86_400_000
/** With six digits `fraction × unit` stays below 2^53, so the arithmetic below is exact. */
const MAX_FRACTION_DIGITS = 6

const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1_000],
  ['ms', 1],
] as const satisfies readonly (readonly [string, number])[]
const UNIT_MS: ReadonlyMap<string, number> = new Map(UNITS)

export type ParsedDuration =
  | { readonly ok: true; readonly ms: number }
  | { readonly ok: false; readonly reason: string }

const refuse = (reason: string): ParsedDuration => ({ ok: false, reason })

/** Sticky and without nested repetition, so that each character is looked at a bounded number of times. */
const PART = /(\d+)(?:\.(\d+))?([a-zA-Zµ]*)/y

/** Parses a duration such as `1m30s`; units `d h m s ms` in any order, each at most once. */
export function parseDuration(text: string, maxMs: number = MAX_DURATION_MS): ParsedDuration {
  if (text.length === 0) return refuse('is empty; use a number with a unit, such as "5s"')
  if (text.length > MAX_DURATION_LENGTH) {
    return refuse(`is longer than ${MAX_DURATION_LENGTH} characters; use the form "1m30s"`)
  }
  if (text.startsWith('-')) return refuse('is negative; a duration must be zero or more')
  const seen = new Set<string>()
  let total = 0
  let position = 0
  while (position < text.length) {
    PART.lastIndex = position
    const match = PART.exec(text)
    if (match === null) return refuse(`is not valid at "${text.slice(position)}"; use the form "1m30s"`)
    const [part, whole = '', fraction = '', unit = ''] = match
    if (unit === '') return refuse(`has no unit after ${part}; write "${part}s" for seconds`)
    const ms = partMs(whole, fraction, unit)
    if (typeof ms === 'string') return refuse(ms)
    if (seen.has(unit)) return refuse(`names the unit ${unit} twice`)
    seen.add(unit)
    total += ms
    position += part.length
  }
  if (total > maxMs) return refuse(`is longer than the maximum ${formatDuration(maxMs)}`)
  return { ok: true, ms: total }
}

/** Milliseconds of one part, or the reason why it is not valid. */
function partMs(whole: string, fraction: string, unit: string): number | string {
  const unitMs = UNIT_MS.get(unit)
  if (unitMs === undefined) return `has the unknown unit "${unit}"; use ms, s, m, h or d`
  if (fraction.length > MAX_FRACTION_DIGITS)
    return `has more than ${MAX_FRACTION_DIGITS} digits after the point`
  const scale = 10 ** fraction.length
  const scaled = Number(fraction) * unitMs
  if (scaled % scale !== 0) return 'is not a whole number of milliseconds'
  return Number(whole) * unitMs + scaled / scale
}

/** The canonical text of a duration: largest unit first, no zero parts, `0s` for nothing. */
export function formatDuration(ms: number): string {
  if (!Number.isSafeInteger(ms) || ms < 0)
    throw new RangeError(`a duration is a whole number of milliseconds, not ${ms}`)
  if (ms === 0) return '0s'
  let rest = ms
  let text = ''
  for (const [unit, unitMs] of UNITS) {
    const count = Math.floor(rest / unitMs)
    if (count > 0) text += `${count}${unit}`
    rest -= count * unitMs
  }
  return text
}
