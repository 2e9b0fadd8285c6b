/**
 * A second opinion on cron under daylight saving, slow and simple, sharing no code with the engine: it
 * walks through time instant by instant, reads the wall clock from `Intl`, parses the fields with a parser
 * of its own, and applies the rule for gaps and folds to what it has seen the clock do. It knows numbers,
 * names, lists, ranges, steps, stars, L, W and #.
 */

/** What a clock in some zone shows, tick by tick. Wall times are counted as if they were UTC. */
export interface ObservedClock {
  readonly tickMs: number
  readonly instants: readonly number[]
  readonly walls: readonly number[]
  /** The instants at which each wall time was shown, in order. */
  readonly shownAt: ReadonlyMap<number, readonly number[]>
}

const readers = new Map<string, Intl.DateTimeFormat>()

function readWall(timezone: string, instant: number): number {
  let reader = readers.get(timezone)
  if (reader === undefined) {
    // Swedish writes 2027-03-28 02:30:00, which is one letter away from what Date.parse takes.
    reader = new Intl.DateTimeFormat('sv-SE', { timeZone: timezone, dateStyle: 'short', timeStyle: 'medium' })
    readers.set(timezone, reader)
  }
  return Date.parse(`${reader.format(instant).replace(' ', 'T')}Z`)
}

export function observeClock(timezone: string, from: number, to: number, tickMs: number): ObservedClock {
  const instants: number[] = []
  const walls: number[] = []
  const shownAt = new Map<number, number[]>()
  for (let instant = from; instant < to; instant += tickMs) {
    const wall = readWall(timezone, instant)
    instants.push(instant)
    walls.push(wall)
    shownAt.set(wall, [...(shownAt.get(wall) ?? []), instant])
  }
  return { tickMs, instants, walls, shownAt }
}

const foundChanges = new Map<string, readonly number[]>()

/** The minutes of a year at which the clock in a zone is put forward or back. */
export function findClockChanges(timezone: string, year: number): readonly number[] {
  const key = `${timezone} ${year}`
  const changes = foundChanges.get(key) ?? lookForClockChanges(timezone, year)
  foundChanges.set(key, changes)
  return changes
}

function lookForClockChanges(timezone: string, year: number): number[] {
  const changes: number[] = []
  const offsetAt = (instant: number): number => readWall(timezone, instant) - instant
  const dayMs = 86_400_000
  let offset = offsetAt(Date.UTC(year, 0, 1))
  for (let day = Date.UTC(year, 0, 1); day < Date.UTC(year + 1, 0, 1); day += dayMs) {
    const nextOffset = offsetAt(day + dayMs)
    if (offset !== nextOffset) {
      let minute = day
      while (offsetAt(minute) === offset) minute += 60_000
      changes.push(minute)
    }
    offset = nextOffset
  }
  return changes
}

export interface OracleRule {
  readonly expression: string
  readonly gap?: 'next' | 'skip' | undefined
  readonly fold?: 'first' | 'last' | 'both' | undefined
}

/** Every instant the clock was observed at and the rule fires. */
export function oracleFires(clock: ObservedClock, rule: OracleRule): number[] {
  const parsed = parseNaively(rule.expression)
  const gap = rule.gap ?? (parsed.isFixedTime ? 'next' : 'skip')
  const fold = rule.fold ?? (parsed.isFixedTime ? 'first' : 'both')
  const isDue = (wall: number, instant: number): boolean => {
    if (!parsed.matches(wall)) return false
    const times = clock.shownAt.get(wall) ?? []
    return fold === 'both' || instant === (fold === 'first' ? times[0] : times.at(-1))
  }
  const anySkipped = (previous: number, wall: number): boolean => {
    for (let skipped = previous + clock.tickMs; skipped < wall; skipped += clock.tickMs) {
      if (parsed.matches(skipped)) return true
    }
    return false
  }
  return clock.instants.filter((instant, i) => {
    const wall = clock.walls[i] ?? Number.NaN
    const previous = clock.walls[i - 1] ?? wall
    return isDue(wall, instant) || (gap === 'next' && anySkipped(previous, wall))
  })
}

interface NaiveCron {
  readonly isFixedTime: boolean
  matches(wall: number): boolean
}

const NAMES = new Map(
  'jan feb mar apr may jun jul aug sep oct nov dec'
    .split(' ')
    .map((name, index): [string, number] => [name, index + 1])
    .concat('sun mon tue wed thu fri sat'.split(' ').map((name, index) => [name, index])),
)

function parseNaively(expression: string): NaiveCron {
  const texts = expression.split(' ')
  if (texts.length === 5) texts.unshift('0')
  const [second = '', minute = '', hour = '', day = '', month = '', weekday = ''] = texts
  const [seconds, minutes, hours] = [values(second, 0, 59), values(minute, 0, 59), values(hour, 0, 23)]
  const months = values(month, 1, 12)
  const [fitsDay, fitsWeekday] = [dayTest(day), weekdayTest(weekday)]
  const anyDay = day === '*' || day === '?'
  const anyWeekday = weekday === '*' || weekday === '?'
  return {
    isFixedTime: ![second, minute, hour].some((text) => ['*', '/', '?'].some((sign) => text.includes(sign))),
    matches(wall) {
      // Plain arithmetic first: most wall times fail here, and a Date costs more than the rest together.
      if (!minutes.has(Math.floor(wall / 60_000) % 60) || !hours.has(Math.floor(wall / 3_600_000) % 24))
        return false
      const date = new Date(wall)
      if (!seconds.has(date.getUTCSeconds()) || !months.has(date.getUTCMonth() + 1)) return false
      const [dayFits, weekdayFits] = [fitsDay(date), fitsWeekday(date)]
      return anyDay || anyWeekday ? dayFits && weekdayFits : dayFits || weekdayFits
    },
  }
}

type DateTest = (date: Date) => boolean

const daysOfMonth = (date: Date): number =>
  new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 0)).getUTCDate()

/** Tests the day of the month: it is enough that one item of the field matches. */
function dayTest(field: string): DateTest {
  const tests = field
    .toLowerCase()
    .split(',')
    .map((item): DateTest => {
      if (item === 'l') return (date) => date.getUTCDate() === daysOfMonth(date)
      if (item === 'lw') return (date) => date.getUTCDate() === workingDayNear(date, daysOfMonth(date))
      if (item.endsWith('w')) {
        const near = Number(item.slice(0, -1))
        return (date) => near <= daysOfMonth(date) && date.getUTCDate() === workingDayNear(date, near)
      }
      const days = values(item, 1, 31)
      return (date) => days.has(date.getUTCDate())
    })
  return (date) => tests.some((test) => test(date))
}

/** Looks around a day of the month for the nearest one, of the same month, that is neither Saturday nor Sunday. */
function workingDayNear(date: Date, day: number): number {
  for (const distance of [0, -1, 1, -2, 2]) {
    const candidate = new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), day + distance))
    const isWorkingDay = candidate.getUTCDay() !== 0 && candidate.getUTCDay() !== 6
    if (isWorkingDay && candidate.getUTCMonth() === date.getUTCMonth()) return candidate.getUTCDate()
  }
  return day
}

/** Days of the week: any of them, or by their number in the month. */
function weekdayTest(field: string): DateTest {
  const tests = field
    .toLowerCase()
    .split(',')
    .map((item): DateTest => {
      const [, plain = item, which = ''] = /^(.+?)(#\d|l)$/.exec(item) ?? []
      const weekdays = values(plain, 0, 7)
      if (weekdays.has(7)) weekdays.add(0)
      return (date) => {
        if (!weekdays.has(date.getUTCDay())) return false
        if (which === 'l') return date.getUTCDate() + 7 > daysOfMonth(date)
        return which === '' || Math.ceil(date.getUTCDate() / 7) === Number(which.slice(1))
      }
    })
  return (date) => tests.some((test) => test(date))
}

function values(text: string, min: number, max: number): Set<number> {
  const found = new Set<number>()
  for (const item of text.toLowerCase().split(',')) {
    const [range = '', step = '1'] = item.split('/')
    const [from = '', to = from] = range === '*' || range === '?' ? [`${min}`, `${max}`] : range.split('-')
    const last = to === 'sun' && from !== 'sun' ? 7 : numberOf(to)
    for (let value = numberOf(from); value <= last; value += Number(step)) found.add(value)
  }
  return found
}

const numberOf = (text: string): number => NAMES.get(text) ?? Number(text)
