import { expect, test } from 'vitest'
import { checkCron, withoutHash } from './cron-fields.ts'
import { hashOf } from './hash.ts'
import { firstOccurrence, nextOccurrence, occurrencesBetween } from './occurrences.ts'
import type { Plan } from './schedule.ts'
import { fieldsFor } from './wall-rule.ts'

test('the hash of a text never changes, because stored schedules depend on it', () => {
  expect(['', 'a', 'report\nminute', 'report\nhour', 'größer'].map(hashOf)).toEqual([
    2872998923, 2448022055, 3064895123, 2297831484, 3519426307,
  ])
})

const drawn = (expression: string, seed: string) => {
  const { second, minute, hour, day, month, weekday } = fieldsFor(expression, seed)
  return [second, minute, hour, day, month, weekday].join(' ')
}

test('H is a value in the range of its field, and fields are independent', () => {
  const seeds = Array.from({ length: 2_000 }, (_, i) => `task-${i}`)
  const days = seeds.map((seed) => fieldsFor('H H H H H H', seed))
  const values = (field: 'second' | 'minute' | 'hour' | 'day' | 'month' | 'weekday') =>
    [...new Set(days.map((fields) => Number(fields[field])))].sort((a, b) => a - b)
  const upTo = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, i) => from + i)

  expect(values('second')).toEqual(upTo(0, 59))
  expect(values('minute')).toEqual(upTo(0, 59))
  expect(values('hour')).toEqual(upTo(0, 23))
  expect(values('day')).toEqual(upTo(1, 28))
  expect(values('month')).toEqual(upTo(1, 12))
  expect(values('weekday')).toEqual(upTo(0, 6))
  expect(new Set(days.map(({ second, minute }) => `${second} ${minute}`)).size).toBeGreaterThan(1_000)
})

test('ranges and steps of H stay within what was written', () => {
  for (let i = 0; i < 200; i += 1) {
    const { minute, hour, weekday } = fieldsFor('H/15,H(50-59) H(9-11)/2 * * H(MON-FRI)', `task-${i}`)
    const [, from, to] = /^(\d+)-59\/15,(\d+)$/.exec(minute) ?? []
    expect(Number(from)).toBeLessThan(15)
    expect(Number(to)).toBeGreaterThanOrEqual(50)
    expect(['9-11/2', '10-11/2']).toContain(hour)
    expect(Number(weekday)).toBeGreaterThanOrEqual(1)
    expect(Number(weekday)).toBeLessThanOrEqual(5)
  }
})

test('an expression with H replaced is valid, and the H of THU is kept', () => {
  expect(checkCron(drawn('H/7 H H * THU', 'x')).ok).toBe(true)
  expect(drawn('0 9 * * THU', 'x')).toBe('0 0 9 * * THU')
  const checked = checkCron('H H(0-5) * * THU')
  expect(checked.ok && withoutHash({ fields: checked.fields, draw: () => 100 })).toMatchObject({
    minute: '40',
    hour: '4',
    weekday: 'THU',
  })
})

test('a plan with H is due where its seed says, and two seeds differ', () => {
  const planOf = (seed: string): Plan => ({
    schedule: { type: 'cron', expression: 'H H * * *', timezone: 'UTC' },
    startAt: null,
    endAt: null,
    anchorAt: 0,
    seed,
  })
  const from = Date.UTC(2027, 0, 1)
  const first = firstOccurrence(planOf('a'), from) ?? 0

  expect(nextOccurrence(planOf('a'), first)).toBe(first + 86_400_000)
  expect(firstOccurrence(planOf('b'), from)).not.toBe(first)
  expect([...occurrencesBetween(planOf('a'), from, from + 3 * 86_400_000, 10)]).toHaveLength(3)
})
