import { LRUCache } from 'lru-cache'
import type { TaskDefinition } from '../core/task.ts'
import type { Queryable } from './database.ts'
import { type DefinitionKey, readDefinitions } from './tasks.ts'

const MAX_DEFINITIONS_CACHED = 20_000

const cacheKey = ({ taskId, version }: DefinitionKey) => `${taskId}/${version}`

/**
 * Definitions by task and version. A version never changes, so what is cached cannot be stale; the cache
 * is bounded, and what it does not hold is read in one statement a batch. One-off tasks are not kept: each
 * is asked for once.
 */
export class Definitions {
  readonly #db: Queryable
  readonly #cache = new LRUCache<string, TaskDefinition>({ max: MAX_DEFINITIONS_CACHED })

  constructor(db: Queryable) {
    this.#db = db
  }

  /** The definition of each item, in order; undefined where the task is gone. */
  async of(items: readonly DefinitionKey[]): Promise<(TaskDefinition | undefined)[]> {
    const found = items.map((item) => this.#cache.get(cacheKey(item)))
    const missing = items.filter((_, i) => found[i] === undefined)
    if (missing.length === 0) return found
    const read = await this.#read(missing)
    for (const [i, item] of items.entries()) found[i] ??= read.get(item)
    return found
  }

  async #read(keys: readonly DefinitionKey[]): Promise<Map<DefinitionKey, TaskDefinition>> {
    const rows = await this.#db.run(readDefinitions(keys))
    const read = new Map<DefinitionKey, TaskDefinition>()
    for (const [i, key] of keys.entries()) {
      const definition = rows[i]?.definition
      if (!definition) continue
      read.set(key, definition)
      if (definition.schedule.type !== 'once') this.#cache.set(cacheKey(key), definition)
    }
    return read
  }
}
