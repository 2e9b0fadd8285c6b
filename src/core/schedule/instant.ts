/**
 * Instants as text: RFC 3339 with an offset or Z. A text without an offset would be a different instant on every machine, so it
 * is rejected.
 */

import { daysFromCivil, daysInMonth } from './civil.ts'

/** A date, a time, nine digits of fraction and an offset need 35 characters. */
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
  const [year, month, day] = [Number(match[1]), Number(match[2]), Number(match[3])]
  const [hour, minute, second] = [Number(match[4]), Number(match[5]), Number(match[6])]
  const offset = offsetMinutes(match[8] ?? 'Z')
  if (month < 1 || month > 12 || day < 1 || day > daysInMonth(year, month))
    return { ok: false, reason: 'names a day that does not exist' }
  if (hour > 23 || minute > 59 || second > 59 || offset === null) {
    return {
      ok: false,
      reason: 'has a time or offset out of range; allowed 00:00:00–23:59:59, ±00:00–±23:59',
    }
  }
  const seconds = daysFromCivil(year, month, day) * 86_400 + hour * 3_600 + (minute - offset) * 60 + second
  return { ok: true, at: seconds * 1_000 + fractionMs(match[7] ?? '') }
}

function offsetMinutes(text: string): number | null {
  if (text === 'Z' || text === 'z') return 0
  const hours = Number(text.slice(1, 3))
  const minutes = Number(text.slice(4, 6))
  if (hours > 23 || minutes > 59) return null
  return (text.startsWith('-') ? -1 : 1) * (hours * 60 + minutes)
}

/** Digits beyond the millisecond are rounded up, so that nothing fires before the given instant. */
const fractionMs = (digits: string): number =>
  digits.length <= 3 ? Number(digits.padEnd(3, '0')) : Math.ceil(Number(digits.padEnd(9, '0')) / 1_000_000)
