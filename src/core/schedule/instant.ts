/**
 * Instants as text: RFC 3339 with an offset or Z. Without one the text would mean another instant on every
 * machine, so it is refused rather than guessed.
 */

/** Date, time, nine digits of fraction and an offset need 35. */
export const MAX_INSTANT_LENGTH = 40

export type ParsedInstant =
  | { readonly ok: true; readonly at: number }
  | { readonly ok: false; readonly reason: string }

const RFC_3339 = /^(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?([Zz]|[+-]\d\d:\d\d)$/
const EXAMPLE = 'use an RFC 3339 timestamp with an offset, such as 2027-03-28T09:00:00+02:00 or …Z'

/** Epoch milliseconds of an RFC 3339 instant. */
export function parseInstant(text: string): ParsedInstant {
  const match = text.length <= MAX_INSTANT_LENGTH ? RFC_3339.exec(text) : null
  if (match === null) return { ok: false, reason: `is not an instant; ${EXAMPLE}` }
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = match.slice(1, 7).map(Number)
  const offset = offsetMinutes(match[8] ?? 'Z')
  // Date.UTC rolls 30 February over into March; the comparison below is what notices.
  const date = new Date(0)
  date.setUTCFullYear(year, month - 1, day)
  const exists = date.getUTCMonth() === month - 1 && date.getUTCDate() === day
  if (!exists) return { ok: false, reason: 'names a day that does not exist' }
  if (hour > 23 || minute > 59 || second > 59 || offset === null) {
    return {
      ok: false,
      reason: 'has a time or offset out of range; allowed 00:00:00–23:59:59, ±00:00–±23:59',
    }
  }
  const seconds = date.getTime() / 1_000 + hour * 3_600 + (minute - offset) * 60 + second
  return { ok: true, at: seconds * 1_000 + fractionMs(match[7] ?? '') }
}

function offsetMinutes(text: string): number | null {
  if (text === 'Z' || text === 'z') return 0
  const hours = Number(text.slice(1, 3))
  const minutes = Number(text.slice(4, 6))
  if (hours > 23 || minutes > 59) return null
  return (text.startsWith('-') ? -1 : 1) * (hours * 60 + minutes)
}

/** Digits beyond the millisecond are rounded up: nothing may ever fire before the instant asked for. */
const fractionMs = (digits: string): number => Math.ceil(Number(digits.padEnd(9, '0')) / 1_000_000)
