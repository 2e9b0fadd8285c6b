/**
 * What waits, in the order in which it gets its turn: the lowest priority first; under equal priority projects take turns,
 * within a project its lanes, and within a lane its tasks. So a burst of one of them delays the others by one turn, not by the burst. Of one task what
 * comes first by `compare` goes first, or what was put first.
 */
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
    return this.#levels[0]?.ring.first
  }

  push(item: T): void {
    const { priority, project, lane, task } = this.#flowOf(item)
    this.#ringOf(priority).push([project, lane, task], 0, item)
    this.#size++
  }

  pop(): T | undefined {
    const level = this.#levels[0]
    if (!level) return undefined
    const item = level.ring.pop()
    if (level.ring.isEmpty) this.#levels.shift()
    this.#size--
    return item
  }

  /** Everything, in any order. */
  *[Symbol.iterator](): Iterator<T> {
    for (const { ring } of this.#levels) yield* ring
  }

  /** Takes everything out, in the order of ring. */
  clear(): T[] {
    const items: T[] = []
    for (let item = this.pop(); item !== undefined; item = this.pop()) items.push(item)
    return items
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

/** What takes turns at one level: further turns, or at the last one the items themselves. */
class Ring<T> {
  readonly #compare: ((a: T, b: T) => number) | undefined
  /** A Map keeps the order of insertion: the first has its turn, and goes to the end after it. */
  readonly #parts = new Map<string | number, Ring<T> | Items<T>>()

  constructor(compare: ((a: T, b: T) => number) | undefined) {
    this.#compare = compare
  }

  get isEmpty(): boolean {
    return this.#parts.size === 0
  }

  get first(): T | undefined {
    for (const part of this.#parts.values()) return part.first
    return undefined
  }

  push(path: readonly (string | number)[], depth: number, item: T): void {
    const key = path[depth] as string | number
    let part = this.#parts.get(key)
    if (!part) {
      part = depth === path.length - 1 ? itemsBy(this.#compare) : new Ring(this.#compare)
      this.#parts.set(key, part)
    }
    if (part instanceof Ring) part.push(path, depth + 1, item)
    else part.push(item)
  }

  pop(): T | undefined {
    for (const [key, part] of this.#parts) {
      const item = part.pop()
      if (this.#parts.size > 1 || part.isEmpty) {
        this.#parts.delete(key)
        if (!part.isEmpty) this.#parts.set(key, part)
      }
      return item
    }
    return undefined
  }

  *[Symbol.iterator](): Iterator<T> {
    for (const part of this.#parts.values()) yield* part
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

class InTurn<T> implements Items<T> {
  readonly #items: T[] = []

  get isEmpty(): boolean {
    return this.#items.length === 0
  }

  get first(): T | undefined {
    return this.#items[0]
  }

  push(item: T): void {
    this.#items.push(item)
  }

  pop(): T | undefined {
    return this.#items.shift()
  }

  [Symbol.iterator](): Iterator<T> {
    return this.#items.values()
  }
}
