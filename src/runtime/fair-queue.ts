/**
 * What waits, in the order in which it gets its turn: the lowest priority first; under equal priority projects take turns,
 * within a project its lanes, and within a lane its tasks. So a burst of one of them delays the others by one turn, not by the burst. Of one task what
 * comes first by `compare` goes first, or what was put first.
 */
import { Fifo } from './fifo.ts'
import { Heap } from './heap.ts'

/** Whose turn something takes. */
export interface Flow {
  readonly priority: number
  readonly project: string
  readonly lane: number
  /** One-off tasks of a lane share one: a turn each would let a burst of them pass for many tasks. */
  readonly task: string
}

export class FairQueue<T> {
  readonly #flowOf: (item: T) => Flow
  readonly #compare: ((a: T, b: T) => number) | undefined
  /** As long as all that waits is of one flow, there are no turns to take. */
  #only: { readonly flow: Flow; readonly items: Items<T> } | undefined
  /** The turns of each priority, the lowest first: mostly there is one. */
  readonly #levels: { readonly priority: number; readonly ring: Ring<T> }[] = []
  #size = 0

  constructor(flowOf: (item: T) => Flow, compare?: (a: T, b: T) => number) {
    this.#flowOf = flowOf
    this.#compare = compare
  }

  get size(): number {
    return this.#size
  }

  /** What `pop` would give. */
  get first(): T | undefined {
    return this.#only ? this.#only.items.first : this.#levels[0]?.ring.first
  }

  push(item: T): void {
    const flow = this.#flowOf(item)
    if (this.#size === 0) this.#only = { flow, items: this.#only?.items ?? itemsBy(this.#compare) }
    this.#size++
    if (this.#only && isSame(this.#only.flow, flow)) {
      this.#only.items.push(item)
      return
    }
    this.#takeTurns()
    this.#ringOf(flow.priority).put([flow.project, flow.lane, flow.task], item)
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

  /** Everything, in any order. */
  *[Symbol.iterator](): Iterator<T> {
    if (this.#only) yield* this.#only.items
    for (const { ring } of this.#levels) yield* ring
  }

  /** Takes everything out, in the order of turns. */
  clear(): T[] {
    const items: T[] = []
    for (let item = this.pop(); item !== undefined; item = this.pop()) items.push(item)
    return items
  }

  /** Something of another flow has come. */
  #takeTurns(): void {
    if (!this.#only) return
    const { flow, items } = this.#only
    this.#only = undefined
    if (!items.isEmpty) this.#ringOf(flow.priority).adopt([flow.project, flow.lane, flow.task], items)
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

/** Who takes turns at a level, and what it has waiting: further turns, or at the last level the items themselves. */
interface Turn<T> {
  readonly key: string | number
  readonly part: Ring<T> | Items<T>
}

class Ring<T> {
  readonly #compare: ((a: T, b: T) => number) | undefined
  readonly #turns = new Map<string | number, Turn<T>>()
  /** The first has its turn, and goes to the end after it. */
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

  put(path: readonly (string | number)[], item: T, depth = 0): void {
    const part = this.#turns.get(path[depth] as string | number)?.part
    if (part instanceof Ring) part.put(path, item, depth + 1)
    else if (part) part.push(item)
    else {
      const items = itemsBy(this.#compare)
      items.push(item)
      this.adopt(path, items, depth)
    }
  }

  /** Takes in the items of a task that has none here yet. */
  adopt(path: readonly (string | number)[], items: Items<T>, depth = 0): void {
    const key = path[depth] as string | number
    if (depth === path.length - 1) this.#add({ key, part: items })
    else {
      const part = this.#turns.get(key)?.part ?? this.#add({ key, part: new Ring<T>(this.#compare) })
      if (part instanceof Ring) part.adopt(path, items, depth + 1)
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
      this.#order.shift()
      if (!part.isEmpty) this.#order.push(turn)
    }
    return item
  }

  *[Symbol.iterator](): Iterator<T> {
    for (const { part } of this.#order) yield* part
  }
}

/** The items of one task. */
interface Items<T> extends Iterable<T> {
  readonly isEmpty: boolean
  readonly first: T | undefined
  push(item: T): void
  pop(): T | undefined
}

const itemsBy = <T>(compare: ((a: T, b: T) => number) | undefined): Items<T> =>
  compare ? new Sorted(compare) : new InTurn()

class Sorted<T> extends Heap<T> implements Items<T> {
  get isEmpty(): boolean {
    return this.size === 0
  }
}

class InTurn<T> extends Fifo<T> implements Items<T> {
  get isEmpty(): boolean {
    return this.size === 0
  }

  pop(): T | undefined {
    return this.shift()
  }
}
