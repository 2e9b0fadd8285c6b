import { expect, test } from 'vitest'
import { CrowdedTasks } from './crowded-tasks.ts'

const runsOf = (id: string, count: number): string[] => Array(count).fill(id)

test('a task that makes hundreds of runs pending at once is crowded, and other tasks are not', () => {
  const tasks = new CrowdedTasks()

  expect([...tasks.note([...runsOf('many', 600), ...runsOf('few', 20), 'one'], 0)]).toEqual(['many'])
})

test('a task that exceeds its allowance in small batches becomes crowded', () => {
  const tasks = new CrowdedTasks()
  const seen: number[] = []

  for (let i = 0; i < 1_000; i++) if (tasks.note(runsOf('steady', 20), i * 100).size > 0) seen.push(i)

  expect(seen[0]).toBeGreaterThan(20)
  expect(seen.at(-1)).toBe(999)
})

test('a task within its allowance is never crowded', () => {
  const tasks = new CrowdedTasks()

  for (let i = 0; i < 1_000; i++) expect(tasks.note(runsOf('calm', 10), i * 100).size).toBe(0)
})

test('a task is no longer crowded after the time that its runs were allowed', () => {
  const tasks = new CrowdedTasks()
  tasks.note(runsOf('once', 1_000), 0)

  expect(tasks.note(['once'], 5_000).size).toBe(1)
  expect(tasks.note(['once'], 20_000).size).toBe(0)
})

test('no more than a hundred tasks are crowded at once', () => {
  const tasks = new CrowdedTasks()
  const ids = Array.from({ length: 150 }, (_, i) => runsOf(`t${i}`, 501)).flat()

  expect(tasks.note(ids, 0).size).toBe(100)
  expect(tasks.note(ids, 60_000).size).toBe(100)
})
