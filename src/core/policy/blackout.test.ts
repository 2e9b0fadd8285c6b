import { expect, test } from 'vitest'
import { spanAfter, spanAt } from './blackout.ts'

const at = (text: string) => Date.parse(text)
const span = (from: string, to: string) => ({ from: at(from), to: at(to) })

test('a range holds from its beginning up to its end', () => {
  const rule = { type: 'range', from: '2026-12-24T00:00:00Z', to: '2026-12-26T00:00:00Z' } as const

  expect(spanAt(rule, at('2026-12-23T23:59:59.999Z'))).toBeNull()
  expect(spanAt(rule, at('2026-12-24T00:00:00Z'))).toEqual(span(rule.from, rule.to))
  expect(spanAt(rule, at('2026-12-26T00:00:00Z'))).toBeNull()
  expect(spanAfter(rule, at('2026-12-24T00:00:00Z'))).toBeNull()
})

test('a cron window holds for its duration from each match', () => {
  const rule = { type: 'cron', expression: '0 22 * * FRI', timezone: 'UTC', duration: '4h' } as const

  expect(spanAt(rule, at('2026-11-20T21:59:00Z'))).toBeNull()
  expect(spanAt(rule, at('2026-11-21T01:59:00Z'))).toEqual(
    span('2026-11-20T22:00:00Z', '2026-11-21T02:00:00Z'),
  )
  expect(spanAt(rule, at('2026-11-21T02:00:00Z'))).toBeNull()
  expect(spanAfter(rule, at('2026-11-20T22:00:00Z'))?.from).toBe(at('2026-11-27T22:00:00Z'))
})

test('a weekly window spans midnight and follows the wall clock through a clock change', () => {
  const rule = {
    type: 'weekly',
    days: ['sat'],
    from: '22:00',
    to: '06:00',
    timezone: 'Europe/Berlin',
  } as const

  // Clocks go back on 25 October 2026: that night is nine hours long.
  expect(spanAt(rule, at('2026-10-25T04:30:00Z'))).toEqual(
    span('2026-10-24T20:00:00Z', '2026-10-25T05:00:00Z'),
  )
  expect(spanAt(rule, at('2026-10-25T05:00:00Z'))).toBeNull()
  expect(spanAt(rule, at('2026-10-23T21:00:00Z'))).toBeNull()
})

test('a window within a day ends on that day', () => {
  const rule = { type: 'weekly', days: ['mon', 'wed'], from: '09:00', to: '17:30', timezone: 'UTC' } as const

  expect(spanAt(rule, at('2026-11-16T17:29:00Z'))).toEqual(
    span('2026-11-16T09:00:00Z', '2026-11-16T17:30:00Z'),
  )
  expect(spanAt(rule, at('2026-11-17T10:00:00Z'))).toBeNull()
})
