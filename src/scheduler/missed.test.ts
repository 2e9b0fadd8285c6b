import { expect, test } from 'vitest'
import { aDefinition } from '../../test/support/agenda.ts'
import { dueInstant } from './decide.ts'
import type { Due } from './due-queue.ts'
import { Missed, needsCatchUp } from './missed.ts'

const AT = Date.UTC(2026, 10, 16, 12)
const hourly = { type: 'cron', expression: '0 * * * *', timezone: 'UTC' } as const
const misfire = { policy: 'run_all', window: '1d', cap: 100, rate: 10 } as const

const due = (taskId: string, shard = 1, row = {}, fields = {}): Due =>
  ({
    row: {
      runId: `run of ${taskId}`,
      taskId,
      shard,
      kind: 'occurrence',
      state: 'scheduled',
      scheduledFor: AT,
      ...row,
    },
    definition: aDefinition({ schedule: hourly, misfire, ...fields }),
  }) as unknown as Due

const GRACE_MS = 10_000

test('an occurrence missed in a long outage under run_all is set aside for catch-up', () => {
  const outage = { from: AT - 1, to: AT + GRACE_MS }
  const isSetAside = (row = {}, fields = {}) => needsCatchUp(due('a', 1, row, fields), [outage], GRACE_MS)

  expect(isSetAside()).toBe(true)
  expect(needsCatchUp(due('a'), [{ from: AT, to: AT + GRACE_MS }], GRACE_MS)).toBe(false)
  expect(isSetAside({ kind: 'manual' })).toBe(false)
  expect(isSetAside({}, { misfire: { ...misfire, policy: 'run_once' } })).toBe(false)
  expect(isSetAside({}, { schedule: { type: 'delay', interval: '1h' } })).toBe(false)
})

test('after a short outage only a task that missed several occurrences is set aside', () => {
  const outage = { from: AT - 1, to: AT + GRACE_MS - 1 }
  const schedule = { type: 'cron', expression: '*/5 * * * * *', timezone: 'UTC' }

  expect(needsCatchUp(due('a'), [outage], GRACE_MS)).toBe(false)
  expect(needsCatchUp(due('a', 1, {}, { schedule }), [outage], GRACE_MS)).toBe(true)
})

test('an occurrence that jitter delayed into an outage was missed in it', () => {
  const jittered = due('a', 1, {}, { jitter: '30m', seed: 'task' })
  const dueAt = dueInstant(jittered)

  expect(dueAt).toBeGreaterThan(AT)
  expect(needsCatchUp(jittered, [{ from: dueAt - 1, to: dueAt + GRACE_MS }], GRACE_MS)).toBe(true)
})

test('missed rows are taken a few at a time, in order, one per task, and busy tasks wait', () => {
  const missed = new Missed()
  for (const taskId of ['a', 'b', 'b', 'c', 'd']) missed.add(due(taskId))
  const take = () => missed.take(150, (taskId) => taskId === 'a').map(({ row }) => row.taskId)

  expect([take(), take(), take()]).toEqual([['b', 'c'], ['b', 'd'], []])
  expect(missed.size).toBe(1)
})

test('missed rows of a shard that another node watches are removed', () => {
  const missed = new Missed()
  for (const [i, taskId] of ['a', 'b', 'c'].entries()) missed.add(due(taskId, i))

  expect(missed.retain((shard) => shard === 1).map(({ row }) => row.taskId)).toEqual(['a', 'c'])
  expect(missed.size).toBe(1)
})
