import { LRUCache } from 'lru-cache'
import type { TaskDefinition } from '../core/task.ts'
import type { Queryable } from './database.ts'
import { type DefinitionKey, readDefinitions } from './tasks.ts'

const MAX_DEFINITIONS_CACHED = 20_000
const MAX_ONE_OFFS_CACHED = 5_000

const cacheKey = ({ taskId, version }: DefinitionKey) => `${taskId}/${version}`

/**
 * Definitions by task and version. A version never changes, so what is cached cannot be stale; the cache
 * is bounded, and what it does not hold is read in one statement a batch. One-off tasks have a small one of
 * their own: they are asked for when they are fired and perhaps when they are claimed, and never again.
 */
export class Definitions {
  readonly #db: Queryable
  readonly #cache = new LRUCache<string, TaskDefinition>({ max: MAX_DEFINITIONS_CACHED })
  readonly #oneOffs = new LRUCache<string, TaskDefinition>({ max: MAX_ONE_OFFS_CACHED })

  constructor(db: Queryable) {
    this.#db = db
  }

  /** The definition of each item, in order; undefined where the task is gone. */
  async of(items: readonly DefinitionKey[]): Promise<(TaskDefinition | undefined)[]> {
    const found: (TaskDefinition | undefined)[] = items.map((item) => {
      const key = cacheKey(item)
      return this.#cache.get(key) ?? this.#oneOffs.get(key)
    })
    const missing = items.flatMap((item, index) => (found[index] ? [] : [{ item, index }]))
    if (missing.length === 0) return found
    const rows = await this.#db.run(readDefinitions(missing.map(({ item }) => item)))
    for (const [i, { item, index }] of missing.entries()) {
      const definition = rows[i]?.definition ?? undefined
      found[index] = definition
      if (definition)
        (definition.schedule.type === 'once' ? this.#oneOffs : this.#cache).set(cacheKey(item), definition)
    }
    return found
  }
}
