import { expect, test } from 'vitest'
import { aDefinition } from '../../../test/support/agenda.ts'
import { applyOverride } from './run-override.ts'

const http = { type: 'http', url: 'http://x', method: 'POST', body: 1 } as const

test('fields that the override does not name keep the values of the task', () => {
  const definition = aDefinition({ action: http, priority: 3, timeout: '1m' })

  expect(applyOverride(definition, {})).toEqual(definition)
  expect(applyOverride(definition, { priority: 0 })).toEqual({ ...definition, priority: 0 })
})

test('members of the action, of the retries and headers are replaced one by one', () => {
  const headers = { 'X-One': '1', 'X-Two': '2' }
  const definition = aDefinition({ action: { ...http, headers } })

  const run = applyOverride(definition, {
    action: { headers: { 'x-two': 'b' }, body: null },
    retry: { limit: 0 },
  })

  expect(run.action).toEqual({ ...http, headers: { 'X-One': '1', 'x-two': 'b' }, body: null })
  expect(run.retry).toEqual({ ...definition.retry, limit: 0 })
})

test('headers can be given to an action that has none', () => {
  const run = applyOverride(aDefinition({ action: http }), { action: { headers: { a: 'b' } } })

  expect(run.action).toEqual({ ...http, headers: { a: 'b' } })
})
