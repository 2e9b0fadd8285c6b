/**
 * Keeps the redactors of values that are read again and again, since making one takes milliseconds if its values are long. They
 * are found by the values themselves, so none is used for values that have changed.
 */
import { createHash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { NamedValue } from '../core/secret/patterns.ts'
import { Redactor } from '../core/secret/redactor.ts'

const MAX_BYTES = 64 * 1024 * 1024

export class Redactors {
  readonly #kept: LRUCache<string, Redactor>

  /** `keptMs` limits how long a redactor is used; `sweep` removes those that are older from memory. */
  constructor(keptMs: number) {
    this.#kept = new LRUCache({ maxSize: MAX_BYTES, sizeCalculation: ({ size }) => size, ttl: keptMs })
  }

  of(secrets: Iterable<NamedValue>): Redactor {
    const values = [...secrets]
    const key = keyOf(values)
    const kept = this.#kept.get(key)
    if (kept) return kept
    const made = new Redactor(values)
    this.#kept.set(key, made)
    return made
  }

  sweep(): void {
    this.#kept.purgeStale()
  }

  forget(): void {
    this.#kept.clear()
  }
}

function keyOf(values: readonly NamedValue[]): string {
  const hash = createHash('sha256')
  for (const value of values) hash.update(JSON.stringify(value))
  return hash.digest('base64')
}
