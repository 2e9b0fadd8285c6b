/**
 * Random patterns, zones and policies against the oracle, mostly around clock changes. BELFRY_FUZZ_CASES
 * multiplies the number of cases. A failure prints the seed that replays it.
 */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  findClockChanges,
  type ObservedClock,
  observeClock,
  oracleFires,
} from '../../../test/checker/cron-oracle.ts'
import type { FoldPolicy, GapPolicy } from './daylight-saving.ts'
import { nextOccurrence, occurrencesBetween } from './occurrences.ts'
import type { Plan } from './schedule.ts'

const { BELFRY_FUZZ_CASES = '1' } = process.env
const scale = Number(BELFRY_FUZZ_CASES)
const TIMEOUT_MS = 60_000 * scale
const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

const ZONES = [
  'Africa/Cairo',
  'Africa/Casablanca',
  'America/Caracas',
  'America/Havana',
  'America/New_York',
  'America/Santiago',
  'America/Sao_Paulo',
  'America/St_Johns',
  'Antarctica/Troll',
  'Asia/Beirut',
  'Asia/Gaza',
  'Asia/Kathmandu',
  'Asia/Pyongyang',
  'Asia/Tehran',
  'Australia/Lord_Howe',
  'Europe/Berlin',
  'Europe/Dublin',
  'Europe/Istanbul',
  'Pacific/Apia',
  'Pacific/Chatham',
  'UTC',
]

interface RandomRule {
  readonly expression: string
  readonly gap: GapPolicy | undefined
  readonly fold: FoldPolicy | undefined
  /** Where in the compared range stepping starts, from 0 to 1. */
  readonly start: number
}

const planOf = ({ expression, gap, fold }: RandomRule, timezone: string): Plan => ({
  schedule: {
    type: 'cron',
    expression,
    timezone,
    ...(gap === undefined ? {} : { gap }),
    ...(fold === undefined ? {} : { fold }),
  },
  startAt: null,
  endAt: null,
  anchorAt: 0,
})

const range = (max: number) =>
  fc.tuple(fc.nat({ max }), fc.nat({ max })).map(([a, b]) => `${Math.min(a, b)}-${Math.max(a, b)}`)
const list = (max: number) =>
  fc.array(fc.nat({ max }), { minLength: 1, maxLength: 4 }).map((values) => values.join(','))
const step = fc.integer({ min: 1, max: 24 })
const timeField = (max: number) =>
  fc.oneof(
    fc.constantFrom('*', '*', '?', '0'),
    list(max),
    range(max),
    step.map((n) => `*/${n}`),
    fc.tuple(range(max), step).map(([r, n]) => `${r}/${n}`),
  )
/** Most clock changes happen at night, so most hours are drawn from there. */
const hourField = fc.oneof(
  timeField(23),
  list(4),
  range(4),
  fc.constantFrom('23', '0', '2', '23,0-1', '1,2,3'),
)
const dayField = fc.oneof(
  { weight: 4, arbitrary: fc.constant('*') },
  fc.constantFrom('?', '1-15', '*/2', '30,31'),
)
const monthField = fc.oneof(
  { weight: 6, arbitrary: fc.constant('*') },
  fc.constantFrom('MAR,OCT', '1-6', '*/2'),
)
const weekdayField = fc.oneof(
  { weight: 4, arbitrary: fc.constant('*') },
  fc.constantFrom('?', 'SUN', 'sat-sun', 'MON-FRI', '0,5', '5-7', '*/3'),
)
const fiveFields = fc
  .tuple(timeField(59), hourField, dayField, monthField, weekdayField)
  .map((fields) => fields.join(' '))
const sixFields = fc.tuple(timeField(59), fiveFields).map(([second, rest]) => `${second} ${rest}`)
const rulesOf = (expression: fc.Arbitrary<string>, maxLength: number): fc.Arbitrary<RandomRule[]> =>
  fc.array(
    fc.record({
      expression,
      gap: fc.constantFrom(undefined, 'next' as const, 'skip' as const),
      fold: fc.constantFrom(undefined, 'first' as const, 'last' as const, 'both' as const),
      start: fc.double({ min: 0, max: 1, noNaN: true }),
    }),
    { minLength: maxLength, maxLength },
  )

/** A zone and an instant: one of the clock changes of a year if it has any, else any time of the year. */
const moment = fc
  .tuple(
    fc.constantFrom(...ZONES),
    fc.integer({ min: 2000, max: 2035 }),
    fc.double({ min: 0, max: 1, noNaN: true }),
  )
  .map(([timezone, year, position]) => {
    const changes = findClockChanges(timezone, year)
    const change = changes[Math.floor(position * (changes.length + 0.2))]
    const anywhere = Date.UTC(year, 0, 1) + Math.floor(position * 365 * 24) * HOUR
    return { timezone, at: change ?? anywhere }
  })

/** Steps from a random instant to the end of the range and compares with everything the oracle saw. */
function compare(clock: ObservedClock, timezone: string, rule: RandomRule, from: number, to: number): void {
  const plan = planOf(rule, timezone)
  const after = Math.floor(from + rule.start * (to - from))

  const fires = [...occurrencesBetween(plan, after, to, 100_000)]

  const expected = oracleFires(clock, rule).filter((instant) => instant > after && instant <= to)
  expect(fires).toEqual(expected)
}

test(
  'five-field patterns fire where the oracle fires, minute by minute',
  () => {
    fc.assert(
      fc.property(moment, rulesOf(fiveFields, 12), ({ timezone, at }, rules) => {
        // A little more than is compared is observed, so that both showings of a wall time are seen.
        const clock = observeClock(timezone, at - 26 * HOUR, at + 26 * HOUR, MINUTE)
        for (const rule of rules) compare(clock, timezone, rule, at - 22 * HOUR, at + 22 * HOUR)
      }),
      { numRuns: 90 * scale },
    )
  },
  TIMEOUT_MS,
)

test(
  'six-field patterns fire where the oracle fires, second by second',
  () => {
    fc.assert(
      fc.property(moment, rulesOf(sixFields, 8), ({ timezone, at }, rules) => {
        const clock = observeClock(timezone, at - 3 * HOUR, at + 3 * HOUR, 1_000)
        for (const rule of rules) compare(clock, timezone, rule, at - HOUR, at + HOUR)
      }),
      { numRuns: 12 * scale },
    )
  },
  TIMEOUT_MS,
)

test(
  'Apia skips 30 December 2011 the way the oracle does',
  () => {
    const at = Date.UTC(2011, 11, 30, 10)
    const clock = observeClock('Pacific/Apia', at - 3 * DAY, at + 3 * DAY, MINUTE)
    fc.assert(
      fc.property(rulesOf(fiveFields, 1), (rules) => {
        for (const rule of rules) compare(clock, 'Pacific/Apia', rule, at - 2 * DAY, at + 2 * DAY)
      }),
      { numRuns: 60 * scale },
    )
  },
  TIMEOUT_MS,
)

test(
  'a step from anywhere gives the same answer as walking there',
  () => {
    const at = Date.UTC(2027, 9, 31, 1) // Berlin's clocks go back at this instant
    fc.assert(
      fc.property(rulesOf(fiveFields, 1), fc.nat({ max: 6 * 3_600 }), (rules, seconds) => {
        for (const rule of rules) {
          const plan = planOf(rule, 'Europe/Berlin')
          const after = at - 3 * HOUR + seconds * 1_000
          const walked = [...occurrencesBetween(plan, at - 2 * DAY, at + 2 * DAY, 10_000)]
          const direct = nextOccurrence(plan, after)
          expect(direct !== null && direct <= at + 2 * DAY ? direct : undefined).toBe(
            walked.find((t) => t > after),
          )
        }
      }),
      { numRuns: 200 * scale },
    )
  },
  TIMEOUT_MS,
)
