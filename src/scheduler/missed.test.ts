import { expect, test } from 'vitest'
import { aDefinition } from '../../test/support/agenda.ts'
import { MISFIRE_GRACE_MS } from '../core/task.ts'
import type { Due } from './due-queue.ts'
import { isMadeUpFor, Missed } from './missed.ts'

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

test('what is set aside came due in an outage, long ago, and is all made up for', () => {
  const [outage, now] = [{ from: AT - 1, to: AT }, AT + MISFIRE_GRACE_MS + 1]

  expect(isMadeUpFor(due('a'), [outage], now)).toBe(true)
  expect(isMadeUpFor(due('a'), [outage], now - 1)).toBe(false)
  expect(isMadeUpFor(due('a'), [{ from: AT, to: AT + 1 }], now)).toBe(false)
  expect(isMadeUpFor(due('a', 1, { kind: 'manual' }), [outage], now)).toBe(false)
  expect(isMadeUpFor(due('a', 1, {}, { misfire: { ...misfire, policy: 'run_once' } }), [outage], now)).toBe(
    false,
  )
  expect(isMadeUpFor(due('a', 1, {}, { schedule: { type: 'delay', interval: '1h' } }), [outage], now)).toBe(
    false,
  )
})

test('they go a few at a time, in order, one a task, and those that are busy wait', () => {
  const missed = new Missed()
  for (const taskId of ['a', 'b', 'b', 'c', 'd']) missed.add(due(taskId))
  const take = () => missed.take(150, (taskId) => taskId === 'a').map(({ row }) => row.taskId)

  expect([take(), take(), take()]).toEqual([['b', 'c'], ['b', 'd'], []])
  expect(missed.size).toBe(1)
})

test('what belongs to a shard that another node watches is forgotten', () => {
  const missed = new Missed()
  for (const [i, taskId] of ['a', 'b', 'c'].entries()) missed.add(due(taskId, i))

  expect(missed.retain((shard) => shard === 1).map(({ row }) => row.taskId)).toEqual(['a', 'c'])
  expect(missed.size).toBe(1)
})
