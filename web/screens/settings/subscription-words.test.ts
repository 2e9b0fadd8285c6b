import { expect, test } from 'vitest'
import { filterWords } from './subscription-words.ts'

test('a filter is described by its kinds of events and its conditions', () => {
  expect(filterWords({})).toBe('all runs that end')
  expect(filterWords({ states: ['permanently_failed', 'skipped'], tags: ['prod', 'db'] })).toBe(
    'runs that end permanently failed or skipped · tags: prod, db',
  )
  expect(filterWords({ events: ['runs', 'circuits'], queues: ['mail'] })).toBe(
    'all runs that end · queues: mail; circuits that open or close',
  )
  expect(filterWords({ events: ['audit-log'], actions: ['key.create', 'key.revoke'] })).toBe(
    'changes in the audit log: key.create, key.revoke',
  )
  expect(filterWords({ events: ['audit-log'] })).toBe('changes in the audit log: all')
})
