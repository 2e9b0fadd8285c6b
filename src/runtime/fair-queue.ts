/**
 * A queue with fair ordering: the lowest priority first; at equal priority projects take turns, then the lanes of a project,
 * then the tasks of a lane. So a burst from one of them delays the others by one turn rather than by the whole burst. Items of
 * one task are ordered by `compare`, or by insertion if it is not given.
 */
import { Fifo } from './fifo.ts'
import { Heap } from './heap.ts'

/** The group in which an item takes its turn. */
export interface Flow {
  readonly priority: number
  readonly project: string
  readonly lane: number
  /** One-off tasks of a lane share one value. With separate ones, a burst of them would get as many turns as there are tasks. */
  readonly task: string
}

export class FairQueue<T> {
  readonly #flowOf: (item: T) => Flow
  readonly #compare: ((a: T, b: T) => number) | undefined
  /** All items, while they belong to a single flow, so that no turns are needed. */
  #only: { readonly flow: Flow; readonly items: Items<T> } | undefined
  /** The turns of each priority, the lowest first. Usually there is only one. */
  readonly #levels: { readonly priority: number; readonly ring: Ring<T> }[] = []
  #size = 0

  constructor(flowOf: (item: T) => Flow, compare?: (a: T, b: T) => number) {
    this.#flowOf = flowOf
    this.#compare = compare
  }

  get size(): number {
    return this.#size
  }

  /** The item that `pop` would return. */
  get first(): T | undefined {
    return this.#only ? this.#only.items.first : this.#levels[0]?.ring.first
  }

  push(item: T): void {
    const flow = this.#flowOf(item)
    if (this.#size === 0) this.#only = { flow, items: this.#only?.items ?? new Items(this.#compare) }
    this.#size++
    if (this.#only && isSame(this.#only.flow, flow)) {
      this.#only.items.push(item)
      return
    }
    this.#takeTurns()
    this.#ringOf(flow.priority).put(flow, item)
  }

  pop(): T | undefined {
    if (this.#size === 0) return undefined
    this.#size--
    if (this.#only) return this.#only.items.pop()
    const level = this.#levels[0] as { readonly ring: Ring<T> }
    const item = level.ring.pop()
    if (level.ring.isEmpty) this.#levels.shift()
    return item
  }

  /** Iterates over all items, in any order. */
  *[Symbol.iterator](): Iterator<T> {
    if (this.#only) yield* this.#only.items
    for (const { ring } of this.#levels) yield* ring
  }

  /** Removes all items and returns them in the order of turns. */
  clear(): T[] {
    const items: T[] = []
    for (let item = this.pop(); item !== undefined; item = this.pop()) items.push(item)
    return items
  }

  /** Switches to turns, because an item of another flow arrived. */
  #takeTurns(): void {
    if (!this.#only) return
    const { flow, items } = this.#only
    this.#only = undefined
    if (!items.isEmpty) this.#ringOf(flow.priority).adopt(flow, items)
  }

  #ringOf(priority: number): Ring<T> {
    const levels = this.#levels
    let i = levels.length
    while (i > 0 && (levels[i - 1]?.priority as number) > priority) i--
    const level = levels[i - 1]
    if (level?.priority === priority) return level.ring
    const ring = new Ring<T>(this.#compare)
    levels.splice(i, 0, { priority, ring })
    return ring
  }
}

const isSame = (a: Flow, b: Flow) =>
  a.task === b.task && a.lane === b.lane && a.priority === b.priority && a.project === b.project

/** Projects take turns at the first level, lanes at the second, tasks at the third. */
const TASKS = 2
const keyOf = ({ project, lane, task }: Flow, depth: number): string | number =>
  depth === 0 ? project : depth === TASKS ? task : lane

/** A participant at one level, with its waiting parts: a further level of turns, or the items of a task. */
interface Turn<T> {
  readonly key: string | number
  readonly part: Ring<T> | Items<T>
}

class Ring<T> {
  readonly #compare: ((a: T, b: T) => number) | undefined
  readonly #turns = new Map<string | number, Turn<T>>()
  /** The first turn is next, and then moves to the end. */
  readonly #order = new Fifo<Turn<T>>()

  constructor(compare: ((a: T, b: T) => number) | undefined) {
    this.#compare = compare
  }

  get isEmpty(): boolean {
    return this.#order.size === 0
  }

  get first(): T | undefined {
    return this.#order.first?.part.first
  }

  put(flow: Flow, item: T, depth = 0): void {
    const part = this.#turns.get(keyOf(flow, depth))?.part
    if (part instanceof Ring) part.put(flow, item, depth + 1)
    else if (part) part.push(item)
    else {
      const items = new Items<T>(this.#compare)
      items.push(item)
      this.adopt(flow, items, depth)
    }
  }

  /** Adds the items of a task that has none in this ring. */
  adopt(flow: Flow, items: Items<T>, depth = 0): void {
    const key = keyOf(flow, depth)
    if (depth === TASKS) this.#add({ key, part: items })
    else {
      const part = this.#turns.get(key)?.part ?? this.#add({ key, part: new Ring<T>(this.#compare) })
      if (part instanceof Ring) part.adopt(flow, items, depth + 1)
    }
  }

  #add(turn: Turn<T>): Turn<T>['part'] {
    this.#turns.set(turn.key, turn)
    this.#order.push(turn)
    return turn.part
  }

  pop(): T | undefined {
    const turn = this.#order.first
    if (!turn) return undefined
    const { key, part } = turn
    const item = part.pop()
    if (part.isEmpty) this.#turns.delete(key)
    if (part.isEmpty || this.#order.size > 1) {
      this.#order.pop()
      if (!part.isEmpty) this.#order.push(turn)
    }
    return item
  }

  *[Symbol.iterator](): Iterator<T> {
    for (const { part } of this.#order) yield* part
  }
}

/** The items of one task. Usually there is only one, which is stored without a container. */
class Items<T> {
  readonly #compare: ((a: T, b: T) => number) | undefined
  #only: T | undefined
  #several: Heap<T> | Fifo<T> | undefined

  constructor(compare: ((a: T, b: T) => number) | undefined) {
    this.#compare = compare
  }

  get isEmpty(): boolean {
    return this.#several ? this.#several.size === 0 : this.#only === undefined
  }

  get first(): T | undefined {
    return this.#several ? this.#several.first : this.#only
  }

  push(item: T): void {
    if (this.isEmpty && !this.#several) {
      this.#only = item
      return
    }
    if (!this.#several) {
      this.#several = this.#compare ? new Heap(this.#compare) : new Fifo()
      this.#several.push(this.#only as T)
      this.#only = undefined
    }
    this.#several.push(item)
  }

  pop(): T | undefined {
    if (this.#several) return this.#several.pop()
    const item = this.#only
    this.#only = undefined
    return item
  }

  *[Symbol.iterator](): Iterator<T> {
    if (this.#several) yield* this.#several
    else if (this.#only !== undefined) yield this.#only
  }
}
