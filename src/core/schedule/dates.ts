/**
 * Lists of dates: instants with an offset, or wall times of a zone. Wall times that a clock change skips or repeats are treated
 * like those of a fixed-time cron pattern: due right after the gap, and at the first showing, unless the schedule says
 * otherwise.
 */
import assert from 'node:assert/strict'
import { daysFromCivil, daysInMonth } from './civil.ts'
import { parseInstant } from './instant.ts'
import type { DatesSchedule } from './schedule.ts'
import { MAX_OFFSET_MS, zoneOf } from './zone.ts'

/** Maximum number of dates in a list; about four years of working days. */
export const MAX_DATES = 1_000

/** An instant, or a wall time counted as if it were UTC. */
export type ParsedDate =
  | { readonly kind: 'instant'; readonly at: number }
  | { readonly kind: 'wall'; readonly wall: number }
  | { readonly kind: 'wrong'; readonly reason: string }

const WALL_TIME = /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d)(?::(\d\d))?$/

export function parseDate(text: string): ParsedDate {
  const match = text.length <= 20 ? WALL_TIME.exec(text) : null
  if (match === null) {
    const parsed = parseInstant(text)
    if (parsed.ok) return { kind: 'instant', at: parsed.at }
    const reason = parsed.reason.startsWith('is not an instant')
      ? 'is not a date; use a wall-clock time such as 2027-03-28T09:00, or an instant such as 2027-03-28T09:00:00+02:00'
      : parsed.reason
    return { kind: 'wrong', reason }
  }
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = match
    .slice(1)
    .map((t) => Number(t ?? 0))
  if (month < 1 || month > 12 || day < 1 || day > daysInMonth(year, month))
    return { kind: 'wrong', reason: 'names a day that does not exist' }
  if (hour > 23 || minute > 59 || second > 59)
    return { kind: 'wrong', reason: 'has a time out of range; allowed 00:00:00–23:59:59' }
  const seconds = daysFromCivil(year, month, day) * 86_400 + hour * 3_600 + minute * 60 + second
  return { kind: 'wall', wall: seconds * 1_000 }
}

type Placing = Pick<DatesSchedule, 'timezone' | 'gap' | 'fold'>

/** The instants of a wall time: usually one, none if it is skipped, two if both showings count. */
export function instantsOfWall(wall: number, { timezone, gap = 'next', fold = 'first' }: Placing): number[] {
  const zone = zoneOf(timezone)
  const shown = zone.instantsShowing(wall)
  const [first] = shown
  if (first === undefined) {
    const end = gap === 'next' ? zone.endOfGap(wall) : null
    return end === null ? [] : [end]
  }
  if (fold === 'both') return shown
  return [fold === 'first' ? first : (shown.at(-1) ?? first)]
}

/** A parsed date: an instant, or a wall time whose instants lie within MAX_OFFSET_MS of `near`. */
interface NamedDate {
  readonly near: number
  readonly isWall: boolean
}

/** Parsed dates by schedule. Callers that step through a schedule keep its object, so each list is parsed once. */
const read = new WeakMap<DatesSchedule, readonly NamedDate[]>()

/** The dates of a valid schedule, sorted by the instants or wall times that they name. */
function namedDates(schedule: DatesSchedule): readonly NamedDate[] {
  const known = read.get(schedule)
  if (known !== undefined) return known
  const named = schedule.dates.map((text): NamedDate => {
    const date = parseDate(text)
    assert(date.kind !== 'wrong', `the stored date "${text}" is not valid`)
    return date.kind === 'instant' ? { near: date.at, isWall: false } : { near: date.wall, isWall: true }
  })
  named.sort((a, b) => a.near - b.near)
  read.set(schedule, named)
  return named
}

/**
 * The first instant after the given one; null if there is none. Only dates near it are converted by their zone: each further
 * year of a zone requires finding its clock changes, and a list may name a thousand years.
 */
export function nextDate(schedule: DatesSchedule, after: number): number | null {
  const dates = namedDates(schedule)
  let earliest: number | null = null
  for (let i = firstNear(dates, after - MAX_OFFSET_MS); i < dates.length; i += 1) {
    const { near, isWall } = dates[i] as NamedDate
    if (earliest !== null && near - MAX_OFFSET_MS > earliest) break
    for (const at of isWall ? instantsOfWall(near, schedule) : [near]) {
      if (at > after && (earliest === null || at < earliest)) earliest = at
    }
  }
  return earliest
}

/** Index of the first date whose instant or wall time is at or after `bound`. */
function firstNear(dates: readonly NamedDate[], bound: number): number {
  let [low, high] = [0, dates.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((dates[middle] as NamedDate).near >= bound) high = middle
    else low = middle + 1
  }
  return low
}
