import { expect, test } from 'vitest'
import { eventWords, inputOf, START } from './subscription-fields.ts'

const fields = { ...START(), url: ' https://example.com ', states: ['skipped'] as const, tags: 'a, b,' }

test('only a subscription to runs filters by state and tags', () => {
  expect(inputOf(fields)).toEqual({
    url: 'https://example.com',
    filter: { states: ['skipped'], tags: ['a', 'b'] },
  })
  expect(inputOf({ ...fields, about: 'both' }).filter).toEqual({
    events: ['runs', 'circuits'],
    states: ['skipped'],
    tags: ['a', 'b'],
  })
  expect(inputOf({ ...fields, about: 'circuits' }).filter).toEqual({ events: ['circuits'] })
  expect(inputOf({ ...fields, about: 'changes' }).filter).toEqual({ events: ['audit-log'] })
  expect(inputOf({ ...fields, about: 'changes', actions: ['key.revoke'] }).filter).toEqual({
    events: ['audit-log'],
    actions: ['key.revoke'],
  })
})

test('the form describes which events the subscription will deliver', () => {
  expect(eventWords(fields)).toBe('for each run that ends skipped, of tasks tagged a or b')
  expect(eventWords({ ...fields, about: 'changes', actions: ['key.create', 'key.revoke'] })).toBe(
    'for each change in the audit log of this project of the kind key.create or key.revoke',
  )
})
