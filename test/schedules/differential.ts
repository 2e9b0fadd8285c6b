/**
 * Random cron schedules in every time zone against the oracle: each case is one expression with its policies, in one
 * zone, over two days around a clock change or anywhere in ten years, stepped from a random instant. All of it
 * follows from the seed. The oracle walks through time and shares no code with the engine.
 */
import { occurrencesBetween } from '../../src/core/schedule/occurrences.ts'
import type { Schedule } from '../../src/core/schedule/schedule.ts'
import { validateSchedule } from '../../src/core/schedule/validate-schedule.ts'
import { findClockChanges, type OracleRule, observeClock, oracleFires } from '../checker/cron-oracle.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const FIRST_YEAR = 2024
const YEARS = 10
/** Observing the clock costs as much as some thirty rules, so it is shared by many. */
const RULES_PER_CLOCK = 100
/** Every so manieth clock is watched by the second, which is sixty times the work. */
const BY_THE_SECOND = 25
const RULES_BY_THE_SECOND = 10
const MAX_MISMATCHES = 10

/** What to compare, and how much of it. */
export interface DifferentialOptions {
  readonly cases: number
  readonly seed: number
  /** The share of one of several processes: each takes zones of its own. */
  readonly part?: number
  readonly parts?: number
  readonly onProgress?: (done: number) => void
}

/** What was compared, and where the two did not agree. */
export interface DifferentialResult {
  readonly cases: number
  readonly zones: number
  readonly clockChanges: number
  readonly fires: number
  readonly mismatches: readonly string[]
}

export const ZONES: readonly string[] = [...new Set([...Intl.supportedValuesOf('timeZone'), 'UTC'])].sort()

export function compareWithOracle(options: DifferentialOptions): DifferentialResult {
  const { cases, seed, part = 0, parts = 1, onProgress } = options
  const zones = ZONES.filter((_, index) => index % parts === part)
  const random = randomFrom(seed * 31 + part)
  const offset = Math.floor(random() * zones.length)
  const mismatches: string[] = []
  const seen = { zones: new Set<string>(), changes: 0 }
  let [done, fires] = [0, 0]
  for (let clocks = 0; done < cases && mismatches.length < MAX_MISMATCHES; clocks += 1) {
    const timezone = zones[(clocks + offset) % zones.length] ?? 'UTC'
    const moment = momentOf(timezone, Math.floor(clocks / zones.length), random)
    const bySecond = clocks % BY_THE_SECOND === BY_THE_SECOND - 1
    const [reach, margin, tick] = bySecond ? [HOUR, 2 * HOUR, 1_000] : [22 * HOUR, 4 * HOUR, MINUTE]
    const [from, to] = [moment.at - reach, moment.at + reach]
    const clock = observeClock(timezone, from - margin, to + margin, tick)
    seen.zones.add(timezone)
    seen.changes += moment.isChange ? 1 : 0
    for (let i = 0; i < (bySecond ? RULES_BY_THE_SECOND : RULES_PER_CLOCK) && done < cases; i += 1) {
      const rule = randomRule(random, bySecond)
      const schedule = { type: 'cron', timezone, ...rule } as Schedule
      if (!validateSchedule(schedule).ok) continue
      const after = Math.floor(from + random() * (to - from))
      const plan = { schedule, startAt: null, endAt: null, anchorAt: 0 }
      const found = [...occurrencesBetween(plan, after, to, 1_000_000)]
      const expected = oracleFires(clock, rule).filter((at) => at > after && at <= to)
      done += 1
      fires += expected.length
      if (found.length !== expected.length || found.some((at, k) => at !== expected[k])) {
        mismatches.push(explain({ schedule, after, found, expected }))
        if (mismatches.length === MAX_MISMATCHES) break
      }
    }
    onProgress?.(done)
  }
  return { cases: done, zones: seen.zones.size, clockChanges: seen.changes, fires, mismatches }
}

interface Mismatch {
  readonly schedule: Schedule
  readonly after: number
  readonly found: readonly number[]
  readonly expected: readonly number[]
}

function explain({ schedule, after, found, expected }: Mismatch): string {
  const iso = (at: number | undefined) => (at === undefined ? 'nothing' : new Date(at).toISOString())
  const index = expected.findIndex((at, i) => at !== found[i])
  const at = index < 0 ? expected.length : index
  return `${JSON.stringify(schedule)} after ${iso(after)}: found ${iso(found[at])}, the oracle has ${iso(expected[at])}`
}

/** The clock changes of ten years one after the other, and after the last of them anywhere. */
function momentOf(timezone: string, visit: number, random: () => number): { at: number; isChange: boolean } {
  const year = FIRST_YEAR + (visit % YEARS)
  const changes = findClockChanges(timezone, year)
  const change = changes[Math.floor(random() * (changes.length + 0.3))]
  const anywhere = Date.UTC(year, 0, 1) + Math.floor(random() * 365 * 24 * 60) * MINUTE
  return { at: change ?? anywhere, isChange: change !== undefined }
}

/** Small, fast and the same everywhere: mulberry32. */
function randomFrom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296
  }
}

function randomRule(random: () => number, bySecond: boolean): OracleRule {
  const int = (min: number, max: number) => min + Math.floor(random() * (max - min + 1))
  const pick = <T>(...items: readonly T[]): T => items[Math.floor(random() * items.length)] as T
  const range = (min: number, max: number) => {
    const [a, b] = [int(min, max), int(min, max)]
    return `${Math.min(a, b)}-${Math.max(a, b)}`
  }
  const time = (max: number): string => {
    switch (int(0, 6)) {
      case 0:
      case 1:
        return '*'
      case 2:
        return String(int(0, max))
      case 3:
        return Array.from({ length: int(2, 4) }, () => int(0, max)).join(',')
      case 4:
        return range(0, max)
      case 5:
        return `*/${int(1, 24)}`
      default:
        return `${range(0, max)}/${int(1, 12)}`
    }
  }
  // Most clock changes happen at night, so most hours are drawn from there.
  const hour =
    random() < 0.4 ? time(23) : pick('0', '1', '2', '3', '23', '0-3', '1,2,3', '23,0-1', '1-2', '2,14')
  const day =
    random() < 0.6
      ? '*'
      : pick(
          '?',
          '1',
          'L',
          'LW',
          '15W',
          '1W,15',
          '31',
          '*/2',
          range(1, 31),
          String(int(1, 31)),
          `${int(1, 28)}W`,
          '1,L',
        )
  const month = random() < 0.8 ? '*' : pick('MAR,OCT', '1-6', '*/2', 'nov-dec', String(int(1, 12)))
  const weekday =
    random() < 0.6
      ? '*'
      : pick(
          '?',
          'SUN',
          'sat-sun',
          'MON-FRI',
          '0,5',
          '5-7',
          '*/3',
          'SUN#1',
          'sunL',
          '0L',
          'FRI#5',
          'MON-WED#2',
          `${int(0, 7)}`,
          '7',
        )
  const fields = [time(59), hour, day, month, weekday]
  return {
    expression: (bySecond ? [time(59), ...fields] : fields).join(' '),
    ...pick<Pick<OracleRule, 'gap'>>({}, { gap: 'next' }, { gap: 'skip' }),
    ...pick<Pick<OracleRule, 'fold'>>({}, { fold: 'first' }, { fold: 'last' }, { fold: 'both' }),
  }
}
