/** What sentences are made of: instants, durations, times, numbers, and lists of them. */
import { formatDuration, MAX_DURATION_MS, parseDuration } from '../../duration.ts'
import { parseInstant } from '../instant.ts'
import type { Reader } from './reader.ts'
import { UNIT_WORDS } from './vocabulary.ts'

export function readInstant(reader: Reader): string | null {
  const match = reader.take(
    /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)/iy,
    'an instant such as 2026-12-24T18:00:00Z',
  )
  return match !== null && parseInstant(match[0]).ok ? match[0] : null
}

const DURATION = 'a duration such as 15 minutes'

/** "1 hour 30 minutes", or as the other fields have it: "1h30m". */
export function readDuration(reader: Reader): number | null {
  const compact = reader.take(/(?:\d+(?:\.\d+)?(?:ms|s|m|h|d))+(?![\w.])/y, DURATION)
  if (compact !== null) {
    const parsed = parseDuration(compact[0])
    return parsed.ok ? parsed.ms : reader.miss(DURATION)
  }
  let total: number | null = null
  for (;;) {
    const part = reader.attempt(() => {
      const count = reader.take(/\d{1,9}(?![\w.:-])/y, total === null ? DURATION : 'more of the duration')
      const unit = count === null ? null : readUnit(reader)
      return unit === null ? null : Number(count?.[0]) * unit
    })
    if (part === null) return total
    total = (total ?? 0) + part
    if (total > MAX_DURATION_MS) return reader.miss(`a duration up to ${formatDuration(MAX_DURATION_MS)}`)
  }
}

export function readUnit(reader: Reader): number | null {
  const names = UNIT_WORDS.flatMap(([name]) => [`${name}s`, name])
  const word = reader.oneOf(names, 'a unit such as minutes')
  return word === null ? null : (UNIT_WORDS.find(([name]) => word.startsWith(name))?.[1] ?? null)
}

/** A wall time. */
export interface Time {
  readonly hour: number
  readonly minute: number
  readonly second: number
}

const TIME = 'a time such as 9:00'

export function readTime(reader: Reader): Time | null {
  if (reader.words('noon')) return { hour: 12, minute: 0, second: 0 }
  if (reader.words('midnight')) return { hour: 0, minute: 0, second: 0 }
  return (
    reader.attempt(() => {
      const match = reader.take(/(\d{1,2})(?::(\d\d)(?::(\d\d))?)?(?:\s*(am|pm))?(?![\w:])/iy, TIME)
      if (match === null || (match[2] === undefined && match[4] === undefined)) return null
      const hour = toHour(Number(match[1]), match[4])
      const [minute, second] = [Number(match[2] ?? 0), Number(match[3] ?? 0)]
      return hour === null || hour > 23 || minute > 59 || second > 59 ? null : { hour, minute, second }
    }) ?? reader.miss(`${TIME}, 0:00 to 23:59`)
  )
}

/** The hour on a clock of 24, from one that may be told in two halves. */
export function toHour(hour: number, half: string | undefined): number | null {
  if (half === undefined) return hour
  if (hour < 1 || hour > 12) return null
  return (hour % 12) + (half.toLowerCase() === 'pm' ? 12 : 0)
}

export function readNumber(reader: Reader, min: number, max: number, what: string): number | null {
  const expectation = `${what} from ${min} to ${max}`
  return (
    reader.attempt(() => {
      const match = reader.take(/\d{1,2}(?![\w:.-])/y, expectation)
      const value = Number(match?.[0])
      return match === null || value < min || value > max ? null : value
    }) ?? reader.miss(expectation)
  )
}

/** "a", "a and b", "a, b and c". */
export function readList<T>(
  reader: Reader,
  read: (reader: Reader) => T | null,
  max: number,
  what: string,
): T[] | null {
  const first = read(reader)
  if (first === null) return null
  const items = [first]
  for (;;) {
    const next = reader.attempt(() => {
      if (reader.take(/,\s*and(?!\w)|,|and(?!\w)/iy, '"and"') === null) return null
      return read(reader)
    })
    if (next === null) return items
    if (items.length === max) return reader.miss(`no more than ${max} ${what}`)
    items.push(next)
  }
}
