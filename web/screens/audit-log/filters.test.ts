import { expect, test } from 'vitest'
import { auditFilters } from './filters.ts'

const FROM = '2026-11-01T08:00:00.000Z'
const TO = '2026-11-02T08:00:00.000Z'

test('an address with an instant is a range between instants', () => {
  expect(auditFilters({ from: FROM, to: TO })).toEqual({ since: 'between', from: FROM, to: TO })
  expect(auditFilters({ to: TO })).toEqual({ since: 'between', to: TO })
  expect(auditFilters({ since: 'between' })).toEqual({ since: 'between' })
})

test('a span before now has no other bounds', () => {
  expect(auditFilters({ since: '24h', from: FROM, to: TO })).toEqual({ since: '24h' })
})

test('what is not an instant is dropped', () => {
  expect(auditFilters({ since: 'ever', from: 'yesterday', to: '' })).toEqual({})
})
