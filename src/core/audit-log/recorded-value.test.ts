import { expect, test } from 'vitest'
import { MASK } from '../action/secret-rule.ts'
import { MAX_RECORDED_BYTES, recordedValue } from './recorded-value.ts'

test('an absent value is recorded as null', () => {
  expect([recordedValue(undefined), recordedValue(null)]).toEqual([null, null])
})

test('members that are named like secrets are blanked, at any depth', () => {
  const value = { name: 'a', secret: 'x', smtp: { clientSecret: 'y', hasNewSecret: true }, tokens: [1] }

  expect(JSON.parse(recordedValue(value) ?? '')).toEqual({
    name: 'a',
    secret: MASK,
    smtp: { clientSecret: MASK, hasNewSecret: true },
    tokens: [1],
  })
})

test('a value that is too long keeps its short members', () => {
  const text = recordedValue({ name: 'a', tags: ['ä'.repeat(3_000)], note: 'b' }) ?? ''

  expect(JSON.parse(text)).toEqual({ name: 'a', tags: { omitted: '6004 bytes' }, note: 'b' })
})

test('a value is never longer than its bound, whatever it consists of', () => {
  const many = Object.fromEntries(Array.from({ length: 5_000 }, (_, i) => [`member${i}`, i]))

  for (const value of [many, ['x'.repeat(9_000)]])
    expect(Buffer.byteLength(recordedValue(value) ?? '')).toBeLessThanOrEqual(MAX_RECORDED_BYTES)
})
