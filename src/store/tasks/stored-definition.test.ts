import { expect, test } from 'vitest'
import { aDefinition } from '../../../test/support/agenda.ts'
import { storedForm, wholeDefinition } from './stored-definition.ts'

const restored = (text: string) => wholeDefinition(JSON.parse(text))

test('a task with default settings stores only its action, schedule and anchor', () => {
  expect(Object.keys(JSON.parse(storedForm(aDefinition())))).toEqual(['action', 'schedule', 'anchorAt'])
})

test('a restored definition equals the stored one, with default and other settings', () => {
  const decided = aDefinition({
    startAt: '2027-01-01T00:00:00Z',
    maxRuns: 3,
    overlap: 'allow',
    misfire: { policy: 'run_once', window: '2d', cap: 100, rate: 10 },
    retry: { limit: 0, initial: '1s', max: '30s' },
    labels: ['gpu'],
    priority: -5,
    concurrencyKey: 'billing',
    projectId: '00000000-0000-7000-8000-000000000002',
    tracingId: 'order 7',
    metadata: { retry: { limit: 3, initial: '1s', max: '30s' } },
  })

  for (const definition of [aDefinition(), decided])
    expect(restored(storedForm(definition))).toEqual(definition)
})

test("members of a user's body are kept, even with names of settings", () => {
  const action = { type: 'webhook', url: 'http://localhost/', body: { priority: 0, timeout: '20m' } } as const

  expect(restored(storedForm(aDefinition({ action }))).action).toEqual(action)
})

/** A database holds definitions that rely on these: a changed line here changes tasks that exist. */
test('the values that absent fields stand for never change', () => {
  expect(wholeDefinition({})).toEqual({
    startAt: null,
    endAt: null,
    maxRuns: null,
    seed: null,
    jitter: null,
    overlap: 'skip',
    misfire: { policy: 'run_once', window: '1d', cap: 100, rate: 10 },
    retry: { limit: 3, initial: '1s', max: '30s' },
    timeout: '20m',
    queueTimeout: null,
    onWorkerLoss: 'retry',
    circuitBreaker: true,
    queue: 'default',
    priority: 0,
    labels: [],
    concurrencyKey: null,
    concurrencyLimit: 1,
    concurrencyRate: null,
    concurrencyBurst: null,
    metadata: {},
    projectId: '00000000-0000-7000-8000-000000000001',
    tracingId: null,
    traceparent: null,
    secrets: null,
  })
})
