import { expect, test } from 'vitest'
import { emptyDraft } from './draft.ts'
import { nextWait } from './run-once.ts'
import { testInput } from './test-input.ts'

test('a test run uses the queue, labels and concurrency key of the task, and is not retried', () => {
  const draft = {
    ...emptyDraft(),
    name: 'report',
    key: 'report',
    tags: ['prod'],
    action: 'sleep' as const,
    queue: 'slow',
    priority: '1',
    labels: ['gpu'],
    concurrencyKey: 'warehouse',
    concurrencyLimit: '2',
    queueTimeout: '5m',
  }

  expect(testInput(draft)).toMatchObject({
    name: 'Test of report',
    tags: ['test'],
    retry: { limit: 0 },
    queue: 'slow',
    priority: 1,
    labels: ['gpu'],
    concurrencyKey: 'warehouse',
    concurrencyLimit: 2,
    queueTimeout: '5m',
  })
  expect(testInput(draft)).not.toHaveProperty('key')
})

test('a test run waits at most a minute for a worker, and is polled less and less often', () => {
  expect(testInput(emptyDraft())).toMatchObject({ queueTimeout: '1m' })

  const waits = Array.from({ length: 20 }).reduce<number[]>(
    (before) => [...before, nextWait(before.at(-1) ?? 250)],
    [],
  )
  expect(waits[0]).toBeLessThan(1_000)
  expect(waits.at(-1)).toBe(2_000)
})
