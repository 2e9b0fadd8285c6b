import { expect, test } from 'vitest'
import type { Task } from '../../api/wire.ts'
import { reachOf, selectedWords } from './selection.ts'

const tasks = Array.from({ length: 10_000 }, (_, n) => ({ id: String(n) }) as Task)

test('selecting all shows when more tasks match than one action takes', () => {
  expect(selectedWords(10_000, reachOf({ tasks, isCut: true }, 10_000, 0))).toBe(
    '10 000 selected, the newest only; more match',
  )
  expect(selectedWords(10_000, reachOf({ tasks, isCut: false }, 10_000, 0))).toBe(
    '10 000 selected, all that match',
  )
})

test('deselecting a task ends the selection of all, but a deleted task does not', () => {
  expect(selectedWords(9_999, reachOf({ tasks, isCut: false }, 9_999, 0))).toBe('9 999 selected')
  expect(reachOf({ tasks, isCut: false }, 9_999, 1)).toBe('all')
  expect(reachOf(null, 3, 0)).toBe('some')
})
