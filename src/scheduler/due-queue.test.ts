import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { DueRow } from '../store/agenda.ts'
import { DueQueue } from './due-queue.ts'

const row = (runId: string, wakeAt: number, taskId = runId, shard = 0): DueRow => ({
  runId,
  taskId,
  shard,
  wakeAt,
  kind: 'occurrence',
  state: 'scheduled',
  scheduledFor: wakeAt,
  version: 1,
  ordinal: 1,
  fence: 0,
  attempt: 0,
  losses: 0,
  lane: 0,
  priority: 0,
})

test('rows come out in due order, whatever order they went in', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 1_000 })), (instants) => {
      const queue = new DueQueue()
      for (const [i, at] of instants.entries()) queue.add(row(String(i), at))

      const out = queue.takeDue(2_000, instants.length + 1).map((r) => r.wakeAt)

      expect(out).toEqual([...instants].sort((a, b) => a - b))
    }),
  )
})

test('what is not due yet stays, and what is read twice is held once', () => {
  const queue = new DueQueue()
  queue.add(row('a', 10))
  queue.add(row('a', 10))
  queue.add(row('b', 30))

  expect(queue.takeDue(20, 10).map((r) => r.runId)).toEqual(['a'])
  expect(queue.nextAt).toBe(30)
})

test('of two due runs of one task only the earlier is taken, the other follows', () => {
  const queue = new DueQueue()
  queue.add(row('second', 2, 'task'))
  queue.add(row('first', 1, 'task'))

  expect(queue.takeDue(5, 10).map((r) => r.runId)).toEqual(['first'])
  expect(queue.takeDue(5, 10).map((r) => r.runId)).toEqual(['second'])
})

test('rows of a shard that has moved away are forgotten', () => {
  const queue = new DueQueue()
  queue.add(row('a', 1, 'a', 1))
  queue.add(row('b', 2, 'b', 2))

  queue.retain((shard) => shard === 2)

  expect(queue.takeDue(5, 10).map((r) => r.runId)).toEqual(['b'])
})

test('a row that changed while it was held comes out as it was read last', () => {
  const queue = new DueQueue()
  queue.add(row('a', 1))
  queue.add({ ...row('a', 1), fence: 5 })

  expect(queue.takeDue(5, 10)).toEqual([{ ...row('a', 1), fence: 5 }])
})
