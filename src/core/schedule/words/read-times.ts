/** Times of day. */
import { readList } from './read-values.ts'
import type { Reader } from './reader.ts'

/** A wall time. */
export interface Time {
  readonly hour: number
  readonly minute: number
  readonly second: number
}

const MIDNIGHT: Time = { hour: 0, minute: 0, second: 0 }
const TIME = 'a time such as 9:00, from 0:00 to 23:59'
const CLOCK = /(\d{1,2})(?::(\d\d)(?::(\d\d))?)?(?:\s*(am|pm|a\.m\.|p\.m\.)|\s*(o'?clock))?(?![\w:]|-\d)/iy

/** "at 9:00, 12:00 and 17:30". A bare hour counts as a time only after "at", because elsewhere it would be ambiguous. */
export function readTimes(reader: Reader): Time[] | null {
  const isAfterAt = reader.words('at')
  return readList(reader, (r) => readTime(r, { isBareHourAllowed: isAfterAt }), 24, 'times')
}

/** Reads times; days without a time begin at midnight, as with @daily. */
export function readTimesOrMidnight(reader: Reader): Time[] | null {
  if (reader.sees('at')) return readTimes(reader)
  return reader.attempt(() => readTimes(reader)) ?? [MIDNIGHT]
}

/** Reads one time, with or without "at". */
export function readOneTime(reader: Reader): Time | null {
  const isAfterAt = reader.words('at')
  return readTime(reader, { isBareHourAllowed: isAfterAt })
}

function readTime(reader: Reader, options: { readonly isBareHourAllowed: boolean }): Time | null {
  if (reader.quietly(() => reader.words('noon'))) return { hour: 12, minute: 0, second: 0 }
  if (reader.quietly(() => reader.words('midnight'))) return MIDNIGHT
  return (
    reader.attempt(() => {
      const match = reader.take(CLOCK, TIME)
      if (match === null) return null
      const isBare = match[2] === undefined && match[4] === undefined && match[5] === undefined
      if (isBare && !options.isBareHourAllowed) return null
      const hour = toHour(Number(match[1]), match[4])
      const [minute, second] = [Number(match[2] ?? 0), Number(match[3] ?? 0)]
      return hour === null || hour > 23 || minute > 59 || second > 59 ? null : { hour, minute, second }
    }) ?? reader.miss(TIME)
  )
}

/** The hour on a 24-hour clock, from one that may have am or pm. */
export function toHour(hour: number, half: string | undefined): number | null {
  if (half === undefined) return hour
  if (hour < 1 || hour > 12) return null
  return (hour % 12) + (half.toLowerCase().startsWith('p') ? 12 : 0)
}
