/** The elements of sentences: instants, durations, numbers, and lists of them. */
import { formatDuration, MAX_DURATION_MS, parseDuration } from '../../values/duration.ts'
import { parseInstant } from '../instant.ts'
import type { Reader } from './reader.ts'
import { NUMBER_WORDS, UNIT_SPELLINGS } from './vocabulary.ts'

export function readInstant(reader: Reader): string | null {
  const match = reader.take(
    /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)/iy,
    'an instant such as 2026-12-24T18:00:00Z',
  )
  return match !== null && parseInstant(match[0]).ok ? match[0] : null
}

const DURATION = 'a duration such as 15 minutes'

/** "1 hour 30 minutes", "an hour", "half an hour", or the compact form of other fields: "1h30m". */
export function readDuration(reader: Reader): number | null {
  const compact = reader.take(/(?:\d+(?:\.\d+)?(?:ms|s|m|h|d))+(?![\w.])/y, DURATION)
  if (compact !== null) {
    const parsed = parseDuration(compact[0])
    return parsed.ok ? parsed.ms : reader.miss(DURATION)
  }
  return reader.attempt(() => readPartOfHour(reader)) ?? readUnits(reader)
}

/** "half an hour", "half hour", "quarter of an hour". */
function readPartOfHour(reader: Reader): number | null {
  reader.quietly(() => reader.words('a'))
  const part = reader.quietly(() => reader.oneOf(['half', 'quarter'], DURATION))
  if (part === null) return null
  reader.quietly(() => reader.words('of'))
  reader.quietly(() => reader.words('an'))
  return reader.words('hour') ? (part === 'half' ? 1_800_000 : 900_000) : null
}

function readUnits(reader: Reader): number | null {
  let total: number | null = null
  for (;;) {
    const part = reader.attempt(() => {
      const count = readCount(reader, total === null ? DURATION : 'more of the duration')
      const unit = count === null ? null : readUnit(reader)
      return count === null || unit === null ? null : count * unit
    })
    if (part === null) return total
    total = (total ?? 0) + part
    if (total > MAX_DURATION_MS) return reader.miss(`a duration up to ${formatDuration(MAX_DURATION_MS)}`)
  }
}

/** A number in figures or as a word. */
export function readCount(reader: Reader, expectation: string): number | null {
  const figures = reader.take(/\d{1,9}(?![\w.:-])/y, expectation)
  if (figures !== null) return Number(figures[0])
  const word = reader.quietly(() => reader.oneOf([...NUMBER_WORDS.keys()], expectation))
  return word === null ? null : (NUMBER_WORDS.get(word) ?? null)
}

export function readUnit(reader: Reader): number | null {
  const word = reader.oneOf([...UNIT_SPELLINGS.keys()], 'a unit such as minutes')
  return word === null ? null : (UNIT_SPELLINGS.get(word) ?? null)
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
      if (reader.take(/,\s*and(?!\w)|,|and(?!\w)|&/iy, '"and"') === null) return null
      return read(reader)
    })
    if (next === null) return items
    if (items.length === max) return reader.miss(`no more than ${max} ${what}`)
    items.push(next)
  }
}
