import { LRUCache } from 'lru-cache'
import type { TaskDefinition } from '../core/task.ts'
import type { Queryable } from './database.ts'
import { type DefinitionKey, readDefinitions } from './tasks.ts'

const MAX_DEFINITIONS_CACHED = 20_000

const cacheKey = ({ taskId, version }: DefinitionKey) => `${taskId}/${version}`

/**
 * Definitions by task and version. A version never changes, so what is cached cannot be stale; the cache
 * is bounded, and what it does not hold is read in one statement a batch.
 */
export class Definitions {
  readonly #db: Queryable
  readonly #cache = new LRUCache<string, TaskDefinition>({ max: MAX_DEFINITIONS_CACHED })

  constructor(db: Queryable) {
    this.#db = db
  }

  /** Makes the definitions available to `get`, as far as their tasks exist. */
  async load(keys: readonly DefinitionKey[]): Promise<void> {
    const missing = keys.filter((key) => !this.#cache.has(cacheKey(key)))
    if (missing.length === 0) return
    for (const row of await this.#db.run(readDefinitions(missing)))
      this.#cache.set(cacheKey(row), row.definition)
  }

  get(key: DefinitionKey): TaskDefinition | undefined {
    return this.#cache.get(cacheKey(key))
  }
}
