import { expect, test } from 'vitest'
import { FairQueue, type Flow } from './fair-queue.ts'

interface Item extends Flow {
  readonly n: number
}

const item = (n: number, flow: Partial<Flow> = {}): Item => ({
  ...{ n, priority: 0, project: 'p', lane: 0, task: 't' },
  ...flow,
})
const queueOf = (items: readonly Item[], compare?: (a: Item, b: Item) => number) => {
  const queue = new FairQueue<Item>((each) => each, compare)
  for (const each of items) queue.push(each)
  return queue
}
const numbers = (queue: FairQueue<Item>) => queue.clear().map(({ n }) => n)

test('items of one task keep their order of arrival or the order of the comparison', () => {
  const items = [item(3), item(1), item(2)]

  expect(numbers(queueOf(items))).toEqual([3, 1, 2])
  expect(numbers(queueOf(items, (a, b) => a.n - b.n))).toEqual([1, 2, 3])
})

test('a lower priority number goes first', () => {
  expect(numbers(queueOf([item(1), item(2, { priority: -1 }), item(3, { priority: 5 })]))).toEqual([2, 1, 3])
})

test('a burst of a task, a lane or a project delays the others by one turn', () => {
  const burst = Array.from({ length: 1_000 }, (_, n) => item(n))

  for (const flow of [{ task: 'u' }, { lane: 1 }, { project: 'q' }]) {
    const queue = queueOf([...burst, item(-1, flow), item(-2, flow)])
    expect(numbers(queue).slice(0, 4)).toEqual([0, -1, 1, -2])
  }
})

test('projects share alike, however many lanes and tasks each has', () => {
  const many = Array.from({ length: 100 }, (_, n) => item(n, { task: `t${n}`, lane: n % 7 }))
  const few = Array.from({ length: 10 }, (_, n) => item(1_000 + n, { project: 'q' }))

  const order = numbers(queueOf([...many, ...few]))

  expect(order.slice(0, 20).filter((n) => n >= 1_000)).toHaveLength(10)
})

test('the queue has a size and a first item, and accepts items at any time', () => {
  const queue = queueOf([item(1), item(2, { task: 'u' })])

  expect([queue.size, queue.first?.n, queue.pop()?.n]).toEqual([2, 1, 1])
  queue.push(item(3))
  expect([...queue].map(({ n }) => n).sort()).toEqual([2, 3])
  expect(numbers(queue)).toEqual([2, 3])
  expect([queue.size, queue.first, queue.pop()]).toEqual([0, undefined, undefined])
})
