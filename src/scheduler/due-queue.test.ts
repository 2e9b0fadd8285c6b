import fc from 'fast-check'
import { expect, test } from 'vitest'
import { aDefinition } from '../../test/support/agenda.ts'
import { type Due, DueQueue } from './due-queue.ts'

const definition = aDefinition()

const due = (runId: string, wakeAt: number, changes: Partial<Due['row']> = {}): Due => ({
  definition,
  row: {
    runId,
    taskId: runId,
    shard: 0,
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
    ...changes,
  },
})

const idsOf = (dues: readonly Due[]) => dues.map(({ row }) => row.runId)

test('rows come out in due order, whatever order they went in', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 1_000 })), (instants) => {
      const queue = new DueQueue()
      for (const [i, at] of instants.entries()) queue.add(due(String(i), at))

      const out = queue.takeDue(2_000, { limit: instants.length + 1 }).map(({ row }) => row.wakeAt)

      expect(out).toEqual([...instants].sort((a, b) => a - b))
    }),
  )
})

test('a row that is not due stays, and a row that is read twice is kept once', () => {
  const queue = new DueQueue()
  queue.add(due('a', 10))
  queue.add(due('a', 10))
  queue.add(due('b', 30))

  expect(idsOf(queue.takeDue(20, { limit: 10 }))).toEqual(['a'])
  expect(queue.nextAt).toBe(30)
})

test('runs of one task that may start independently are taken together', () => {
  const queue = new DueQueue()
  const definition = aDefinition({ overlap: 'allow' })
  const add = (runId: string, changes: Partial<Due['row']>) =>
    queue.add({ ...due(runId, 1, { taskId: 'task', ...changes }), definition })
  for (const runId of ['a', 'b', 'c']) add(runId, { kind: 'manual' })
  add('retried', { state: 'retrying' })
  for (const runId of ['one', 'other']) add(runId, {})

  const taken = idsOf(queue.takeDue(5, { limit: 10 }))

  expect(taken).toHaveLength(5)
  expect(taken).toEqual(expect.arrayContaining(['a', 'b', 'c', 'retried']))
})

test('of two due runs of one task only the earlier is taken at first', () => {
  const queue = new DueQueue()
  queue.add(due('second', 2, { taskId: 'task' }))
  queue.add(due('first', 1, { taskId: 'task' }))

  expect(idsOf(queue.takeDue(5, { limit: 10 }))).toEqual(['first'])
  expect(idsOf(queue.takeDue(5, { limit: 10 }))).toEqual(['second'])
})

test('many due rows of one task do not delay rows of other tasks', () => {
  const queue = new DueQueue()
  for (let i = 0; i < 50; i++) queue.add(due(`one ${i}`, i, { taskId: 'one' }))
  queue.add(due('other', 99))

  expect(idsOf(queue.takeDue(100, { limit: 10 }))).toEqual(['one 0', 'other'])
  expect(queue.takeDue(100, { limit: 10, isBusy: (taskId) => taskId === 'one' })).toEqual([])
  expect([queue.size, queue.nextAt]).toEqual([49, 1])
  for (let i = 1; i < 50; i++) expect(idsOf(queue.takeDue(100, { limit: 10 }))).toEqual([`one ${i}`])
  expect([queue.size, queue.nextAt]).toEqual([0, undefined])
})

test('rows that wait behind their task leave with their shard, and are replaced when read again', () => {
  const queue = new DueQueue()
  for (const shard of [1, 2])
    for (const at of [1, 2]) queue.add(due(`${shard}/${at}`, at, { shard, taskId: `${shard}` }))
  expect(idsOf(queue.takeDue(5, { limit: 10 }))).toEqual(['1/1', '2/1'])
  queue.takeDue(5, { limit: 10, isBusy: () => true })

  queue.retain((shard) => shard === 2)
  queue.add(due('2/2', 3, { shard: 2, taskId: '2', fence: 1 }))

  expect(queue.takeDue(5, { limit: 10 })).toEqual([due('2/2', 3, { shard: 2, taskId: '2', fence: 1 })])
  expect(queue.takeDue(5, { limit: 10 })).toEqual([])
})

test('rows of a shard that moved to another node are removed', () => {
  const queue = new DueQueue()
  queue.add(due('a', 1, { shard: 1 }))
  queue.add(due('b', 2, { shard: 2 }))

  queue.retain((shard) => shard === 2)

  expect(idsOf(queue.takeDue(5, { limit: 10 }))).toEqual(['b'])
})

test('a row that is read again replaces the earlier version', () => {
  const queue = new DueQueue()
  queue.add(due('a', 1))
  queue.add(due('a', 1, { fence: 5 }))

  expect(queue.takeDue(5, { limit: 10 })).toEqual([due('a', 1, { fence: 5 })])
})

test('due rows come out by priority, then by due instant', () => {
  const queue = new DueQueue()
  queue.add(due('early', 1))
  queue.add(due('urgent', 3, { priority: -1 }))
  queue.add(due('late', 2))
  queue.add(due('urgent, but not due', 9, { priority: -5 }))

  expect(idsOf(queue.takeDue(5, { limit: 2 }))).toEqual(['urgent', 'early'])
  expect(idsOf(queue.takeDue(5, { limit: 2 }))).toEqual(['late'])
  expect(queue.nextAt).toBe(9)
})

const lineTo = (name: string) => ({ id: `p ${name}`, projectId: 'p', name })

test('runs do not wait behind a line without room, and lines with room take turns', () => {
  const queue = new DueQueue()
  for (let i = 0; i < 3; i++)
    queue.add({ ...due(`hanging ${i}`, i), line: lineTo('https://hanging.example') })
  for (let i = 0; i < 3; i++) queue.add({ ...due(`well ${i}`, 10 + i), line: lineTo('https://well.example') })
  queue.add(due('local', 20))
  const seen: object[] = []

  const taken = queue.takeDue(100, {
    limit: 3,
    roomFor: (line) => {
      seen.push(line)
      return line.line.name === 'https://hanging.example' ? 0 : 2
    },
  })

  expect(idsOf(taken)).toEqual(['well 0', 'local', 'well 1'])
  expect(seen).toContainEqual({ line: lineTo('https://hanging.example'), count: 3, dueSince: 0 })
  expect(idsOf(queue.takeDue(100, { limit: 10 }))).toEqual(['hanging 0', 'well 2', 'hanging 1', 'hanging 2'])
})

test('the lowest priority number comes first, whatever the line', () => {
  const queue = new DueQueue()
  queue.add({ ...due('later', 1, { priority: 5 }), line: lineTo('https://a.example') })
  queue.add({ ...due('first', 9, { priority: -5 }), line: lineTo('https://b.example') })
  queue.add(due('second', 5))

  expect(idsOf(queue.takeDue(10, { limit: 10 }))).toEqual(['first', 'second', 'later'])
})

test('manual runs of a task that allows overlap are taken together', () => {
  const queue = new DueQueue()
  const overlapping = { ...definition, overlap: 'allow' as const }
  for (let i = 0; i < 3; i++)
    queue.add({ ...due(`${i}`, i, { taskId: 'one', kind: 'manual' }), definition: overlapping })

  expect(idsOf(queue.takeDue(10, { limit: 10, isBusy: () => true }))).toEqual(['0', '1', '2'])
})
