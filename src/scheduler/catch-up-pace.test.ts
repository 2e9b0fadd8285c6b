import { expect, test } from 'vitest'
import { aDefinition } from '../../test/support/agenda.ts'
import { TASK_DEFAULTS } from '../core/task/field-list.ts'
import { paceCatchUp } from './catch-up-pace.ts'
import type { Due } from './due-queue.ts'

const NOW = Date.UTC(2026, 10, 16, 12)

const catchUp = (taskId: string, n: number, rate = 1): Due =>
  ({
    row: { runId: `${taskId}${n}`, taskId, scheduledFor: NOW - 60_000 + n },
    definition: aDefinition({ misfire: { ...TASK_DEFAULTS.misfire, policy: 'run_all', rate } }),
  }) as unknown as Due

const paced = (rows: readonly Due[], start: { isWaiting?: boolean; startedAt?: number | null } = {}) => {
  const starts = new Map([['a', { taskId: 'a', isWaiting: false, startedAt: null, ...start }]])
  const { fired, postponed } = paceCatchUp(rows, starts, NOW)
  return [fired.map(({ row }) => row.runId), postponed.map(({ due, at }) => [due.row.runId, at - NOW])]
}

test('of one task one catch-up run starts, and the others follow at its rate', () => {
  expect(paced([catchUp('a', 2), catchUp('a', 1), catchUp('a', 3)])).toEqual([
    ['a1'],
    [
      ['a2', 1_000],
      ['a3', 2_000],
    ],
  ])
})

test('the rate counts from the start of the previous run', () => {
  expect(paced([catchUp('a', 1)], { startedAt: NOW - 165 })).toEqual([[], [['a1', 835]]])
  expect(paced([catchUp('a', 1)], { startedAt: NOW - 1_000 })).toEqual([['a1'], []])
})

test('no further catch-up run of a task starts while one waits for a worker', () => {
  expect(paced([catchUp('a', 1), catchUp('b', 1)], { isWaiting: true })).toEqual([['b1'], [['a1', 1_000]]])
})

test('catch-up runs at a very high rate start together', () => {
  const rows = [1, 2, 3].map((n) => catchUp('a', n, 1_000))

  expect(paced(rows, { startedAt: NOW, isWaiting: true })).toEqual([['a1', 'a2', 'a3'], []])
})
