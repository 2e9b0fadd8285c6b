import { LRUCache } from 'lru-cache'
import type { AgendaKind } from '../core/run.ts'
import { applyOverride } from '../core/run-override.ts'
import type { TaskDefinition } from '../core/task.ts'
import type { Queryable } from './database.ts'
import { readOverrides } from './run-overrides.ts'
import { type DefinitionKey, readDefinitions } from './tasks.ts'

/** A run, and which definition it belongs to. */
export interface DefinedRun extends DefinitionKey {
  readonly runId: string
  /** Left out or null: an occurrence, as most are. */
  readonly kind?: AgendaKind | null
}

const MAX_DEFINITIONS_CACHED = 20_000

const cacheKey = ({ taskId, version }: DefinitionKey) => `${taskId}/${version}`

/**
 * Definitions by task and version. A version never changes, so what is cached cannot be stale; the cache
 * is bounded, and what it does not hold is read in one statement a batch. One-off tasks are not kept: each
 * is asked for once. What a run that somebody asked for does otherwise is its own, and is read with it.
 */
export class Definitions {
  readonly #db: Queryable
  readonly #cache = new LRUCache<string, TaskDefinition>({ max: MAX_DEFINITIONS_CACHED })

  constructor(db: Queryable) {
    this.#db = db
  }

  /** What each run is performed as, in order; undefined where the task is gone. */
  async of(runs: readonly DefinedRun[]): Promise<(TaskDefinition | undefined)[]> {
    const found = runs.map((run) => this.#cache.get(cacheKey(run)))
    const missing = runs.filter((_, i) => found[i] === undefined)
    if (missing.length > 0) {
      const read = await this.#read(missing)
      for (const [i, run] of runs.entries()) found[i] ??= read.get(run)
    }
    const manual = runs.filter(({ kind }) => kind === 'manual')
    return manual.length === 0 ? found : this.#overridden(runs, found, manual)
  }

  async #overridden(
    runs: readonly DefinedRun[],
    found: readonly (TaskDefinition | undefined)[],
    manual: readonly DefinedRun[],
  ): Promise<(TaskDefinition | undefined)[]> {
    const rows = await this.#db.run(readOverrides(manual.map(({ runId }) => runId)))
    const overrides = new Map(rows.map(({ runId, override }) => [runId, override]))
    return found.map((definition, i) => {
      const override = overrides.get(runs[i]?.runId ?? '')
      return definition && override ? applyOverride(definition, override) : definition
    })
  }

  async #read(keys: readonly DefinedRun[]): Promise<Map<DefinedRun, TaskDefinition>> {
    const rows = await this.#db.run(readDefinitions(keys))
    const read = new Map<DefinedRun, TaskDefinition>()
    for (const [i, key] of keys.entries()) {
      const definition = rows[i]?.definition
      if (!definition) continue
      read.set(key, definition)
      if (definition.schedule.type !== 'once') this.#cache.set(cacheKey(key), definition)
    }
    return read
  }
}
