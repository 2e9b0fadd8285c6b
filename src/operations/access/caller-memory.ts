/**
 * A short-lived cache of what callers say they are: keys, sessions, worker tokens, projects. Anyone can invent such names, so what
 * was found before is kept apart from what was not: unknown names push no valid ones out, and only a few of them are looked up
 * at a time. What was found before is looked up again without waiting for them.
 */
import type { LRUCache } from 'lru-cache'
import { Refusal } from '../../core/errors.ts'
import { growingCache } from '../../runtime/growing-cache.ts'

export interface CallerMemoryOptions {
  /** How long a value is used after it was read. */
  readonly freshMs: number
  /** Maximum number of values; the least recently used ones are removed. */
  readonly max: number
}

/** How long a name counts as unknown after it was not found. */
const UNKNOWN_MS = 1_000
/** Maximum number of unknown names to look up at once. */
export const MAX_LOOKUPS = 4
/** Maximum number of callers with unknown names that wait for such a lookup: those of a fleet that reconnects. */
export const MAX_WAITING = 1_000
const RETRY_AFTER_SECONDS = 1

interface Known<T> {
  readonly readAt: number
  readonly value: T | Promise<T | null>
}

export class CallerMemory<T extends {}> {
  readonly #freshMs: number
  readonly #known: LRUCache<string, Known<T>>
  /** Since when a name is known not to exist. */
  readonly #unknown: LRUCache<string, number>
  /** Lookups of unknown names, which concurrent callers share. */
  readonly #asked = new Map<string, Promise<T | null>>()
  #lookups = 0
  readonly #waiting: (() => void)[] = []
  /** What was read before this instant may have changed. */
  #forgottenAt = Number.NEGATIVE_INFINITY

  constructor({ freshMs, max }: CallerMemoryOptions) {
    this.#freshMs = freshMs
    this.#known = growingCache(max)
    this.#unknown = growingCache(max)
  }

  /** Returns the value of a name, or a promise of it; null if there is none. Throws if too many unknown names are looked up. */
  get(name: string, read: () => Promise<T | null>): T | null | Promise<T | null> {
    const known = this.#known.get(name)
    if (known) return this.#isFresh(known.readAt, this.#freshMs) ? known.value : this.#readAgain(name, read)
    if (this.#isFresh(this.#unknown.get(name) ?? Number.NEGATIVE_INFINITY, UNKNOWN_MS)) return null
    return this.#asked.get(name) ?? this.#ask(name, read)
  }

  /** Reads everything again that is asked for from now on. */
  forget(): void {
    this.#forgottenAt = performance.now()
    this.#asked.clear()
  }

  #isFresh(readAt: number, forMs: number): boolean {
    return readAt > this.#forgottenAt && performance.now() - readAt < forMs
  }

  #readAgain(name: string, read: () => Promise<T | null>): Promise<T | null> {
    const before = this.#known.peek(name)
    const readAt = performance.now()
    const value = read()
    const entry: Known<T> = { readAt, value }
    this.#known.set(name, entry)
    value.then(
      (found) => {
        if (this.#known.peek(name) === entry) this.#keep(name, readAt, found)
      },
      () => {
        // Stale, so that the next caller tries again, as one who was known.
        if (this.#known.peek(name) === entry && before)
          this.#known.set(name, { ...before, readAt: Number.NEGATIVE_INFINITY })
      },
    )
    return value
  }

  #ask(name: string, read: () => Promise<T | null>): Promise<T | null> {
    const readAt = performance.now()
    const value = this.#inTurn(read)
    this.#asked.set(name, value)
    const isLatest = () => this.#asked.get(name) === value && this.#asked.delete(name)
    value.then((found) => isLatest() && this.#keep(name, readAt, found), isLatest)
    return value
  }

  #keep(name: string, readAt: number, found: T | null): void {
    if (found !== null) this.#known.set(name, { readAt, value: found })
    else {
      this.#known.delete(name)
      this.#unknown.set(name, readAt)
    }
  }

  async #inTurn(read: () => Promise<T | null>): Promise<T | null> {
    if (this.#lookups < MAX_LOOKUPS) this.#lookups++
    else if (this.#waiting.length >= MAX_WAITING) throw tooMany()
    else await new Promise<void>((resolve) => this.#waiting.push(resolve))
    try {
      return await read()
    } finally {
      const next = this.#waiting.shift()
      if (next) next()
      else this.#lookups--
    }
  }
}

const tooMany = () =>
  new Refusal(
    'busy',
    'This node is looking up too many keys, sessions, worker tokens and projects that it does not know. Try again later.',
    { retryAfterSeconds: RETRY_AFTER_SECONDS },
  )
