import { LRUCache } from 'lru-cache'
import { isLarge } from '../core/action/action.ts'
import { largeAction } from '../core/action/large-action.ts'
import type { AgendaKind } from '../core/run/run.ts'
import { applyOverride, overriddenSettings, type RunOverride } from '../core/run/run-override.ts'
import type { KeptDefinition, TaskDefinition } from '../core/task/task.ts'
import { byBytes } from '../store/database/by-bytes.ts'
import type { Queryable } from '../store/database/database.ts'
import {
  type DefinitionKey,
  readDefinitions,
  readLargeDefinitions,
  readWholeDefinitions,
} from '../store/tasks/read-definitions.ts'
import { measureOverrides, readLargeOverrides, readOverrides } from '../store/tasks/run-overrides.ts'
import { LARGE_BYTES } from '../store/tasks/stored-definition.ts'

/** A run, and which definition it belongs to. */
export interface DefinedRun extends DefinitionKey {
  readonly runId: string
  /** Null or omitted for an occurrence, which is the usual case. */
  readonly kind?: AgendaKind | null
}

const MAX_DEFINITIONS_CACHED = 20_000
/** Bytes of large definitions that one statement parses to strip their actions: a tenth of a second of work. */
const MAX_OPENED_BYTES = 16 * 1024 * 1024

const cacheKey = ({ taskId, version }: DefinitionKey) => `${taskId}/${version}`

/** What a run overrides, and the override's size if it is too large to be kept. */
interface KeptOverride {
  readonly override: RunOverride
  readonly largeBytes: number | null
}

/**
 * Definitions by task and version. Until its task is deleted, a version always does the same, so the cache cannot be stale; if
 * the URL of a Slack message has since been moved to a secret, it is still the same URL. The cache is bounded, and missing
 * definitions are read with one statement per batch. Definitions of one-off tasks are not cached, because each is needed once.
 * Overrides of manual runs belong to the run and are read with it.
 *
 * A large definition is kept without its action, so that the memory for waiting runs is bounded in bytes by their number.
 */
export class Definitions {
  readonly #db: Queryable
  readonly #cache = new LRUCache<string, KeptDefinition>({ maxSize: MAX_DEFINITIONS_CACHED * LARGE_BYTES })

  constructor(db: Queryable) {
    this.#db = db
  }

  /** Returns the definition that each run is performed with, in order; undefined if the task is gone. */
  async of(runs: readonly DefinedRun[]): Promise<(KeptDefinition | undefined)[]> {
    const found = runs.map((run) => this.#cache.get(cacheKey(run)))
    const missing = runs.filter((_, i) => found[i] === undefined)
    if (missing.length > 0) {
      const read = await this.#read(missing)
      for (const [i, run] of runs.entries()) found[i] ??= read.get(run)
    }
    const manual = runs.filter(({ kind }) => kind === 'manual')
    return manual.length === 0 ? found : this.#overridden(runs, found, manual)
  }

  /** Returns definitions with their complete actions, however large; the caller bounds their total size. */
  async whole(runs: readonly DefinedRun[]): Promise<(TaskDefinition | undefined)[]> {
    const rows = await this.#db.run(readWholeDefinitions(runs))
    const manual = runs.filter(({ kind }) => kind === 'manual').map(({ runId }) => runId)
    const read = manual.length === 0 ? [] : await this.#db.run(readOverrides(manual))
    const overrides = new Map(read.map(({ runId, override }) => [runId, override]))
    return runs.map(({ runId }, i) => {
      const definition = rows[i]?.definition ?? undefined
      const override = overrides.get(runId)
      return definition && override ? applyOverride(definition, override) : definition
    })
  }

  async #overridden(
    runs: readonly DefinedRun[],
    found: readonly (KeptDefinition | undefined)[],
    manual: readonly DefinedRun[],
  ): Promise<(KeptDefinition | undefined)[]> {
    const overrides = await this.#readOverrides(manual.map(({ runId }) => runId))
    return found.map((definition, i) => {
      const override = overrides.get(runs[i]?.runId ?? '')
      return definition && override ? withOverride(definition, override) : definition
    })
  }

  async #readOverrides(runIds: readonly string[]): Promise<Map<string, KeptOverride>> {
    const kept = new Map<string, KeptOverride>()
    const measured = await this.#db.run(measureOverrides(runIds))
    for (const { runId, override } of measured) if (override) kept.set(runId, { override, largeBytes: null })
    const large = new Map(
      measured.flatMap(({ runId, override, bytes }) => (override ? [] : [[runId, bytes]])),
    )
    for (const some of byBytes([...large], MAX_OPENED_BYTES, ([, bytes]) => bytes)) {
      const rows = await this.#db.run(readLargeOverrides(some.map(([runId]) => runId)))
      for (const { runId, override } of rows)
        kept.set(runId, { override, largeBytes: large.get(runId) ?? LARGE_BYTES })
    }
    return kept
  }

  async #read(keys: readonly DefinedRun[]): Promise<Map<DefinedRun, KeptDefinition>> {
    const rows = await this.#db.run(readDefinitions(keys))
    const read = new Map<DefinedRun, KeptDefinition>()
    const keep = (key: DefinedRun, definition: KeptDefinition, size: number) => {
      read.set(key, definition)
      if (definition.schedule.type !== 'once') this.#cache.set(cacheKey(key), definition, { size })
    }
    const large: (DefinedRun & { readonly key: DefinedRun; readonly bytes: number })[] = []
    for (const [i, key] of keys.entries()) {
      const row = rows[i]
      if (row?.definition) keep(key, row.definition, LARGE_BYTES)
      else if (row?.unopenedBytes) large.push({ ...key, key, bytes: row.unopenedBytes })
    }
    for (const some of byBytes(large, MAX_OPENED_BYTES, ({ bytes }) => bytes)) {
      const opened = await this.#db.run(readLargeDefinitions(some))
      for (const [i, { key }] of some.entries()) {
        const row = opened[i]
        if (row?.definition) keep(key, row.definition, Math.max(LARGE_BYTES, row.bytes))
      }
    }
    return read
  }
}

/** Applies an override to a kept definition; the result is large if either is. */
function withOverride(definition: KeptDefinition, { override, largeBytes }: KeptOverride): KeptDefinition {
  const { action } = definition
  if (!isLarge(action) && largeBytes === null) return applyOverride({ ...definition, action }, override)
  const bytes = (isLarge(action) ? action.largeBytes : LARGE_BYTES) + (largeBytes ?? LARGE_BYTES)
  return { ...overriddenSettings(definition, override), action: largeAction(action, bytes) }
}
