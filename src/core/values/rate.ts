/** How often something may start, written as a number per unit of time: `10/s`, `100/m`, `1000/h`. */

const UNIT_MS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000 }
const MAX_PER_SECOND = 1_000
export const FASTEST_RATE = `${MAX_PER_SECOND}/s`
/** The default burst is what the rate allows in this time, and at least one. */
export const DEFAULT_BURST_MS = 100

export type ParsedRate =
  | { readonly ok: true; readonly gapMs: number }
  | { readonly ok: false; readonly reason: string }

/** Parses a rate into the time between two starts. */
export function parseRate(text: string, maxPerSecond = MAX_PER_SECOND): ParsedRate {
  const [, count, unit] = /^([1-9]\d{0,6})\/([smh])$/.exec(text) ?? []
  if (count === undefined || unit === undefined)
    return { ok: false, reason: 'must be a number per second, minute or hour, such as 10/s, 100/m or 1000/h' }
  const gapMs = (UNIT_MS[unit] ?? 0) / Number(count)
  if (gapMs < 1_000 / maxPerSecond) return { ok: false, reason: `must not be more than ${maxPerSecond}/s` }
  return { ok: true, gapMs }
}

/** The time between two starts for a rate that was validated before it was stored. */
export function rateGapMs(text: string): number {
  const parsed = parseRate(text)
  if (!parsed.ok) throw new Error(`stored rate '${text}' ${parsed.reason}`)
  return parsed.gapMs
}

/** The same time in whole microseconds, as the database counts it. It is rounded up, so that the rate is never exceeded. */
export const rateGapUs = (text: string): number => Math.ceil(rateGapMs(text) * 1_000)
