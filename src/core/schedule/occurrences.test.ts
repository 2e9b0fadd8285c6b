import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  countOccurrences,
  delayMs,
  dueAt,
  firstOccurrence,
  jitterOf,
  nextOccurrence,
  nextOfDelay,
  occurrencesBetween,
  owedOfDelay,
} from './occurrences.ts'
import type { Plan, Schedule } from './schedule.ts'

const noon = Date.UTC(2027, 0, 1, 12)
const HOUR = 3_600_000
const planOf = (schedule: Schedule, bounds: Partial<Plan> = {}): Plan => ({
  schedule,
  startAt: null,
  endAt: null,
  anchorAt: noon,
  ...bounds,
})
const hourly: Schedule = { type: 'every', interval: '1h' }
const onTheHour: Schedule = { type: 'cron', expression: '0 * * * *', timezone: 'UTC' }

test('once is due at its instant and never again', () => {
  const plan = planOf({ type: 'once', at: '2027-01-01T12:00:00Z' })

  expect(nextOccurrence(plan, noon - 1)).toBe(noon)
  expect(nextOccurrence(plan, noon)).toBeNull()
})

test('once has its first occurrence at its instant, even in the past', () => {
  const plan = planOf({ type: 'once', at: '2027-01-01T12:00:00Z' })

  expect(firstOccurrence(plan, noon + HOUR)).toBe(noon)
  expect(firstOccurrence({ ...plan, endAt: noon - 1 }, noon - HOUR)).toBeNull()
})

test('every is due on the grid from its origin, which is itself an occurrence', () => {
  expect(firstOccurrence(planOf(hourly), noon)).toBe(noon)
  expect(nextOccurrence(planOf(hourly), noon)).toBe(noon + HOUR)
  expect(nextOccurrence(planOf(hourly), noon + 1)).toBe(noon + HOUR)
})

test('an anchor in the past or future sets the phase of the grid', () => {
  const past = planOf({ ...hourly, anchor: '2020-06-01T00:20:00Z' })
  const future = planOf({ ...hourly, anchor: '2040-06-01T00:20:00Z' })

  expect(nextOccurrence(past, noon)).toBe(noon + HOUR / 3)
  expect(nextOccurrence(future, noon)).toBe(noon + HOUR / 3)
})

test('startAt after the anchor does not move the grid', () => {
  const plan = planOf({ ...hourly, anchor: '2027-01-01T00:00:00Z' }, { startAt: noon + 1 })

  expect(firstOccurrence(plan, noon)).toBe(noon + HOUR)
})

test('delay starts at startAt or at once, and its next occurrence does not depend on time', () => {
  const schedule: Schedule = { type: 'delay', interval: '5s' }

  expect(firstOccurrence(planOf(schedule), noon)).toBe(noon)
  expect(firstOccurrence(planOf(schedule, { startAt: noon + HOUR }), noon)).toBe(noon + HOUR)
  expect(firstOccurrence(planOf(schedule, { endAt: noon - 1 }), noon)).toBeNull()
  expect(nextOccurrence(planOf(schedule), noon)).toBeNull()
  expect(delayMs(schedule)).toBe(5_000)
})

test('delay is due one interval after the end of its last run, up to its end', () => {
  const plan = planOf({ type: 'delay', interval: '5s' }, { endAt: noon + 6_000 })

  expect(nextOfDelay(plan, noon + 0.7)).toBe(noon + 5_000)
  expect(nextOfDelay(plan, noon + 1_000)).toBe(noon + 6_000)
  expect(nextOfDelay(plan, noon + 1_001)).toBeNull()
})

test('a delay that has not run yet begins at startAt, but not before its task was created', () => {
  const plan = planOf({ type: 'delay', interval: '5s' }, { startAt: noon })

  expect(owedOfDelay(plan, { lastEndedAt: null, createdAt: noon - 1 })).toBe(noon)
  expect(owedOfDelay(plan, { lastEndedAt: null, createdAt: noon + 1 })).toBe(noon + 1)
  expect(owedOfDelay(plan, { lastEndedAt: noon + HOUR, createdAt: noon })).toBe(noon + HOUR + 5_000)
})

test('manual is never due', () => {
  expect(firstOccurrence(planOf({ type: 'manual' }), noon)).toBeNull()
  expect(nextOccurrence(planOf({ type: 'manual' }), noon)).toBeNull()
})

test.each([hourly, onTheHour])('both bounds of $type are inclusive', (schedule) => {
  const plan = planOf(schedule, { startAt: noon, endAt: noon + 2 * HOUR })

  expect([...occurrencesBetween(plan, 0, Number.MAX_SAFE_INTEGER, 10)]).toEqual([
    noon,
    noon + HOUR,
    noon + 2 * HOUR,
  ])
})

test('daily follows the wall clock of its zone', () => {
  const plan = planOf({ type: 'daily', hour: 2, minute: 30, timezone: 'Europe/Berlin' })
  const from = Date.UTC(2027, 2, 27, 12)

  const fires = [...occurrencesBetween(plan, from, from + 3 * 24 * HOUR, 10)]

  expect(fires.map((instant) => new Date(instant).toISOString())).toEqual([
    '2027-03-28T01:00:00.000Z',
    '2027-03-29T00:30:00.000Z',
    '2027-03-30T00:30:00.000Z',
  ])
})

test('counting stops at the limit and says that there is more', () => {
  const counted = countOccurrences(planOf(onTheHour), noon, noon + 100 * HOUR, 3)

  expect(counted).toEqual({ count: 3, first: noon + HOUR, last: noon + 3 * HOUR, atLeast: true })
})

test('counting exactly as many as the limit does not claim more', () => {
  const counted = countOccurrences(planOf(onTheHour), noon, noon + 3 * HOUR, 3)

  expect(counted).toEqual({ count: 3, first: noon + HOUR, last: noon + 3 * HOUR, atLeast: false })
})

test('a fast every over years is counted exactly and at once', () => {
  const year = 365 * 24 * HOUR
  const plan = planOf({ type: 'every', interval: '10ms' })

  const counted = countOccurrences(plan, noon, noon + year, 1)

  expect(counted).toEqual({ count: year / 10, first: noon + 10, last: noon + year, atLeast: false })
})

test('a range without occurrences has the count zero', () => {
  const nothing = { count: 0, first: null, last: null, atLeast: false }

  expect(countOccurrences(planOf(hourly), noon, noon + 1, 10)).toEqual(nothing)
  expect(countOccurrences(planOf(onTheHour), noon, noon + 1, 10)).toEqual(nothing)
  expect(countOccurrences(planOf({ type: 'manual' }), 0, noon, 10)).toEqual(nothing)
  expect(countOccurrences(planOf(hourly, { endAt: noon }), noon, noon + HOUR, 10)).toEqual(nothing)
})

const several: Schedule = {
  type: 'several',
  triggers: [
    { type: 'cron', expression: '0 */2 * * *', timezone: 'UTC' },
    { type: 'every', interval: '3h', anchor: '2027-01-01T00:00:00Z' },
    { type: 'dates', dates: ['2027-01-01T13:30', '2027-01-01T15:00'], timezone: 'UTC' },
    { type: 'once', at: '2027-01-01T12:10:00Z' },
  ],
}

test('several triggers are due where one of them is, and where two are, once', () => {
  const hours = (...list: number[]) => list.map((hour) => Date.UTC(2027, 0, 1) + hour * HOUR)

  expect([...occurrencesBetween(planOf(several), noon - 1, noon + 6 * HOUR, 20)]).toEqual(
    hours(12, 12 + 1 / 6, 13.5, 14, 15, 16, 18),
  )
  const bounded = planOf(several, { startAt: noon + 1, endAt: noon + 2 * HOUR })
  expect([...occurrencesBetween(bounded, 0, noon + 6 * HOUR, 20)]).toEqual(hours(12 + 1 / 6, 13.5, 14))
  expect(countOccurrences(planOf(several), noon, noon + 6 * HOUR, 100)).toMatchObject({ count: 6 })
})

const jitterPlan = (jitterMs: number, bounds: Partial<Plan> = {}) =>
  planOf(hourly, { seed: 'task', jitterMs, ...bounds })

test('jitter follows from seed and instant, spreads over its width, and never moves the nominal time', () => {
  const plan = jitterPlan(600_000)
  const instants = [...occurrencesBetween(plan, noon, noon + 2_000 * HOUR, 2_000)]
  const jitters = instants.map((at) => jitterOf(plan, at))

  expect(instants).toEqual([...occurrencesBetween(planOf(hourly), noon, noon + 2_000 * HOUR, 2_000)])
  expect(jitters).toEqual(instants.map((at) => dueAt(plan, at) - at))
  expect(Math.min(...jitters)).toBeLessThan(10_000)
  expect(Math.max(...jitters)).toBeGreaterThan(590_000)
  expect(Math.max(...jitters)).toBeLessThanOrEqual(600_000)
  expect(instants.map((at) => jitterOf({ ...plan, seed: 'other' }, at))).not.toEqual(jitters)
})

test('jitter never reaches the next occurrence, nor beyond endAt', () => {
  fc.assert(
    fc.property(fc.nat({ max: 5 * HOUR }), fc.nat({ max: 3 * HOUR }), fc.string(), (jitterMs, end, seed) => {
      const plan = jitterPlan(jitterMs, { endAt: noon + end, seed })
      for (const at of occurrencesBetween(plan, noon - 1, noon + end, 10)) {
        expect(jitterOf(plan, at)).toBeGreaterThanOrEqual(0)
        expect(dueAt(plan, at)).toBeLessThanOrEqual(noon + end)
        expect(dueAt(plan, at)).toBeLessThan(at + HOUR)
        expect(jitterOf(plan, at)).toBeLessThanOrEqual(jitterMs)
      }
    }),
  )
})

const instant = fc.integer({ min: noon - 1_000_000, max: noon + 1_000_000 })
const bound = fc.option(instant, { nil: null })
const everyPlan = fc
  .record({
    interval: fc.integer({ min: 10, max: 200_000 }),
    startAt: bound,
    endAt: bound,
    anchorAt: instant,
  })
  .map(({ interval, ...bounds }) => planOf({ type: 'every', interval: `${interval}ms` }, bounds))

test('the next occurrence of every is the first grid point after the given instant', () => {
  fc.assert(
    fc.property(everyPlan, instant, (plan, after) => {
      const interval = Number.parseInt(plan.schedule.type === 'every' ? plan.schedule.interval : '', 10)
      const next = nextOccurrence(plan, after)
      const lowest = Math.max(after + 1, plan.startAt ?? after + 1)
      const expected = plan.anchorAt + Math.ceil((lowest - plan.anchorAt) / interval) * interval
      expect(next).toBe(plan.endAt !== null && expected > plan.endAt ? null : expected)
    }),
    { numRuns: 1_000 },
  )
})

test('the closed form counts what stepping counts', () => {
  fc.assert(
    fc.property(everyPlan, instant, instant, (plan, after, upTo) => {
      const stepped = [...occurrencesBetween(plan, after, upTo, 1_000_000)]
      expect(countOccurrences(plan, after, upTo, 1)).toEqual({
        count: stepped.length,
        first: stepped[0] ?? null,
        last: stepped.at(-1) ?? null,
        atLeast: false,
      })
    }),
    { numRuns: 50 },
  )
})
