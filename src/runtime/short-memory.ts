import type { LRUCache } from 'lru-cache'
import { growingCache } from './growing-cache.ts'

interface Remembered<T> {
  readonly readAt: number
  readonly value: T | Promise<T>
}

export interface ShortMemoryOptions {
  /** For how long what was read is good enough. */
  readonly freshMs: number
  /** What was not asked for the longest is forgotten beyond this many. */
  readonly max: number
}

/**
 * What was read a moment ago, by its key. Everybody who asks while it is being read waits for the same reading; a reading
 * that failed is not remembered.
 */
export class ShortMemory<T> {
  readonly #freshMs: number
  readonly #known: LRUCache<string, Remembered<T>>

  constructor({ freshMs, max }: ShortMemoryOptions) {
    this.#freshMs = freshMs
    this.#known = growingCache(max)
  }

  /** A value when it is remembered, else the promise of one. */
  get(key: string, read: () => Promise<T>): T | Promise<T> {
    const found = this.#known.get(key)
    if (found && performance.now() - found.readAt < this.#freshMs) return found.value
    const readAt = performance.now()
    const value = read()
    const entry = { readAt, value }
    this.#known.set(key, entry)
    value.then(
      (read) => {
        if (this.#known.peek(key) === entry) this.#known.set(key, { readAt, value: read })
      },
      () => {
        if (this.#known.peek(key) === entry) this.#known.delete(key)
      },
    )
    return value
  }

  forget(): void {
    this.#known.clear()
  }
}
