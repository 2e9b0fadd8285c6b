import { Cron } from 'croner'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { checkCron } from './cron-fields.ts'
import { CronStepper } from './cron-stepper.ts'

function stepper(expression: string): CronStepper {
  const checked = checkCron(expression)
  if (!checked.ok) throw new Error(checked.details.join())
  return new CronStepper(checked.fields)
}

/** The first `count` matches from a wall time on, as text. */
function walk(expression: string, from: string, count: number): string[] {
  const cron = stepper(expression)
  const walls: string[] = []
  let wall = cron.next(Date.parse(`${from}Z`))
  while (wall !== null && walls.length < count) {
    walls.push(new Date(wall).toISOString().slice(0, 16))
    wall = cron.next(wall + 1)
  }
  return walls
}

test.each([
  ['the last day of the month', '0 9 L * *', ['2027-01-31T09:00', '2027-02-28T09:00', '2027-03-31T09:00']],
  ['the last working day', '0 9 LW * *', ['2027-01-29T09:00', '2027-02-26T09:00', '2027-03-31T09:00']],
  [
    'the weekday nearest to the 15th',
    '0 9 15W * *',
    ['2027-01-15T09:00', '2027-02-15T09:00', '2027-03-15T09:00'],
  ],
  [
    'the weekday nearest to the 1st',
    '0 9 1W * *',
    ['2027-01-01T09:00', '2027-02-01T09:00', '2027-03-01T09:00'],
  ],
  ['a 1st on Saturday moves to Monday', '0 9 1W 5 *', ['2027-05-03T09:00', '2028-05-01T09:00']],
  ['a 31st on Sunday moves to Friday', '0 9 31W 1 *', ['2027-01-29T09:00', '2028-01-31T09:00']],
  ['the second Monday', '0 9 * * MON#2', ['2027-01-11T09:00', '2027-02-08T09:00', '2027-03-08T09:00']],
  ['the last Friday', '0 9 * * 5L', ['2027-01-29T09:00', '2027-02-26T09:00', '2027-03-26T09:00']],
  ['a fifth Friday in February', '0 0 ? 2 FRI#5', ['2036-02-29T00:00', '2064-02-29T00:00']],
  ['the leap day', '0 0 29 2 *', ['2028-02-29T00:00', '2032-02-29T00:00']],
  ['leap days around 2100', '0 0 29 2 *', ['2096-02-29T00:00', '2104-02-29T00:00'], '2093-01-01T00:00'],
  ['days that February lacks', '0 0 */10 * *', ['2026-03-01T00:00', '2026-03-11T00:00'], '2026-02-21T00:01'],
  ['two day fields mean or', '0 9 13 * FRI', ['2027-01-01T09:00', '2027-01-08T09:00', '2027-01-13T09:00']],
  ['weekends by name', '0 9 * * SAT-SUN', ['2027-01-02T09:00', '2027-01-03T09:00', '2027-01-09T09:00']],
  ['7 is Sunday', '0 9 * * 7', ['2027-01-03T09:00', '2027-01-10T09:00']],
])('%s', (_name, expression, expected, from = '2027-01-01T00:00') => {
  expect(walk(expression, from, expected.length)).toEqual(expected)
})

test('a pattern that never matches ends the search', () => {
  expect(stepper('0 0 31 2 *').next(0)).toBeNull()
})

test('fractions of a second step to the next whole one', () => {
  expect(stepper('* * * * * *').next(1)).toBe(1_000)
  expect(stepper('* * * * * *').next(1_000)).toBe(1_000)
})

const time = (max: number) =>
  fc.oneof(
    fc.constantFrom('*', '*/7', '0'),
    fc.nat({ max }).map(String),
    fc.array(fc.nat({ max }), { minLength: 1, maxLength: 3 }).map((list) => list.join(',')),
    fc.tuple(fc.nat({ max }), fc.nat({ max })).map(([a, b]) => `${Math.min(a, b)}-${Math.max(a, b)}/3`),
  )
const day = fc.constantFrom('*', '*', '?', 'L', 'LW', '15W', '1W,31W', '30', '31', '1-7', '*/10', '13,L')
const month = fc.constantFrom('*', '*', '2', 'FEB,APR', '1-6', '*/4')
const weekday = fc.constantFrom(
  '*',
  '*',
  '?',
  'MON#2',
  '5L',
  'MON-FRI',
  'SUN',
  '6-7',
  'FRI#5',
  '1-5#3',
  '3L,1#1',
)
const expression = fc
  .tuple(time(59), time(59), time(23), day, month, weekday)
  .map((fields) => fields.join(' '))

/**
 * croner's own steps are no exact reference: version 11.0.0 takes days 29 to 31 of a short month for days of
 * the next one and leaps over what lies before them (1 March, for days 1, 11, 21 and 31). Its `match` has no
 * such fault.
 */
test('each step lands on what croner calls a match, and never beyond the one croner finds', () => {
  const from = fc.integer({ min: Date.UTC(1999, 0, 1), max: Date.UTC(2040, 0, 1) })
  fc.assert(
    fc.property(expression, from, (expression, from) => {
      const cron = stepper(expression)
      const reference = new Cron(expression, { utcOffset: 0, paused: true })
      let wall = from
      for (let step = 0; step < 5; step += 1) {
        const found = reference.nextRun(new Date(wall))?.getTime() ?? Number.POSITIVE_INFINITY
        // croner looks for what comes after a whole second, ours for what is not before an instant.
        const next = cron.next(Math.floor(wall / 1_000) * 1_000 + 1_000)
        expect(next ?? Number.POSITIVE_INFINITY).toBeLessThanOrEqual(found)
        if (next === null) return
        expect(reference.match(new Date(next))).toBe(true)
        wall = next
      }
    }),
    { numRuns: 300 },
  )
})

const instantsOf = (expression: string, count: number): string[] => {
  const cron = stepper(expression)
  const found: string[] = []
  let wall = Date.UTC(2027, 0, 1)
  while (found.length < count) {
    const next = cron.next(wall)
    if (next === null) break
    found.push(new Date(next).toISOString().slice(0, 10))
    wall = next + 1_000
  }
  return found
}

test.each(['0 9 * * SUN-SUN', '0 9 * * sun-sun', '0 9 * * 0-SUN', '0 9 * * SUN-SUN/2'])(
  '%s is Sunday alone',
  (expression) => {
    expect(instantsOf(expression, 3)).toEqual(['2027-01-03', '2027-01-10', '2027-01-17'])
  },
)

test('LW may stand in a list with other days', () => {
  // 31 January 2027 is a Sunday and 28 February another, so their last weekdays are the 29th and the 26th.
  expect(instantsOf('0 9 LW,15 * *', 4)).toEqual(['2027-01-15', '2027-01-29', '2027-02-15', '2027-02-26'])
  expect(instantsOf('0 9 1,LW * *', 3)).toEqual(['2027-01-01', '2027-01-29', '2027-02-01'])
})
