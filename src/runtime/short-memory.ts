import type { LRUCache } from 'lru-cache'
import { growingCache } from './growing-cache.ts'

interface Remembered<T> {
  readonly readAt: number
  readonly value: T | Promise<T>
}

export interface ShortMemoryOptions {
  /** How long a value is used after it was read. */
  readonly freshMs: number
  /** Maximum number of values; the least recently used ones are removed. */
  readonly max: number
}

/** A short-lived cache of values that are read asynchronously. Concurrent callers share one read; a failed read is not cached. */
export class ShortMemory<T> {
  readonly #freshMs: number
  readonly #known: LRUCache<string, Remembered<T>>

  constructor({ freshMs, max }: ShortMemoryOptions) {
    this.#freshMs = freshMs
    this.#known = growingCache(max)
  }

  /** Returns the cached value, or a promise of it. */
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
