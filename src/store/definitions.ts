import { LRUCache } from 'lru-cache'
import type { TaskDefinition } from '../core/task.ts'
import type { Queryable } from './database.ts'
import { type DefinitionKey, readDefinitions } from './tasks.ts'

const MAX_DEFINITIONS_CACHED = 20_000

const cacheKey = ({ taskId, version }: DefinitionKey) => `${taskId}/${version}`

/**
 * Definitions by task and version. A version never changes, so what is cached cannot be stale; the cache
 * is bounded, and what it does not hold is read in one statement a batch. One-off tasks are not kept:
 * nobody asks for them twice, and a herd of them would push everything else out.
 */
export class Definitions {
  readonly #db: Queryable
  readonly #cache = new LRUCache<string, TaskDefinition>({ max: MAX_DEFINITIONS_CACHED })

  constructor(db: Queryable) {
    this.#db = db
  }

  /** The items that have a definition, each with it. An item without one belongs to a task that is gone. */
  async attach<T extends DefinitionKey>(
    items: readonly T[],
  ): Promise<(T & { definition: TaskDefinition })[]> {
    const found = new Map<string, TaskDefinition>()
    const missing: T[] = []
    for (const item of items) {
      const key = cacheKey(item)
      const cached = this.#cache.get(key)
      if (cached) found.set(key, cached)
      else missing.push(item)
    }
    if (missing.length > 0) {
      for (const row of await this.#db.run(readDefinitions(missing))) {
        const key = cacheKey(row)
        found.set(key, row.definition)
        if (row.definition.schedule.type !== 'once') this.#cache.set(key, row.definition)
      }
    }
    return items.flatMap((item) => {
      const definition = found.get(cacheKey(item))
      return definition ? [{ ...item, definition }] : []
    })
  }
}
