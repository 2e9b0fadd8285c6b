import type { LRUCache } from 'lru-cache'
import type { Lane, SideLane } from '../core/run/lane.ts'
import { growingCache } from '../runtime/growing-cache.ts'
import type { Queryable } from '../store/database/database.ts'
import { waitBriefly } from '../store/database/retry-on-deadlock.ts'
import { restoreLanes } from '../store/queues/lost-lanes.ts'
import { registerLanes, settledGates } from '../store/queues/queues.ts'
import { registerSideLanes } from '../store/queues/side-lanes.ts'

/**
 * Makes lanes known. This process does it once an hour: so a queue counts as used as long as it is, and nothing is remembered of one that
 * was removed. Gates are another matter where a task is defined, because the limits of a concurrency key are those that were said last,
 * on whichever node: whether a gate is as a task says is looked up each time.
 */
export class LaneRegistry {
  readonly #known: LRUCache<number, true>

  constructor(now: () => number = () => performance.now()) {
    this.#known = growingCache(MAX_LANES_KNOWN, { ttl: REMEMBERED_MS, ttlResolution: 0, perf: { now } })
  }

  /**
   * Those lanes of tasks to be stored that `register` has to make known, or whose gates have other limits. It locks nothing, so a
   * transaction looks right before it registers: limits that another one has set since would stay.
   */
  async unregistered(db: Queryable, lanes: readonly Lane[]): Promise<readonly Lane[]> {
    const gated = lanes.filter(({ gate }) => gate !== null)
    const settled = gated.length === 0 ? [] : await db.run(settledGates(gated))
    const asSaid = new Set(settled.map(({ id }) => id))
    return lanes.filter(({ id, gate }) => (gate === null ? !this.#isKnown(id) : !asSaid.has(id)))
  }

  /**
   * Registers lanes in the transaction that stores the tasks, so that tasks which are refused change no limit; and last, because queues
   * and gates stay locked until the commit. What it answers is called once that is there.
   */
  async register(tx: Queryable, lanes: readonly Lane[]): Promise<() => void> {
    if (lanes.length > 0) await tx.run(registerLanes(lanes))
    return () => this.#note(lanes)
  }

  /**
   * The same in a transaction that has locked runs of the tasks, as edits do. Ending a run locks the run before its gates, and so does
   * this, but a claim locks gates before runs: it may hold the gate and wait for such a run, so this waits for the gate only briefly.
   */
  async registerAfterRuns(tx: Queryable, lanes: readonly Lane[]): Promise<() => void> {
    const unregistered = await this.unregistered(tx, lanes)
    if (unregistered.length > 0) await waitBriefly(tx)
    return this.register(tx, unregistered)
  }

  /** Makes lanes of stored tasks known, unless they are. Limits stay as they are. */
  async ensure(db: Queryable, lanes: readonly Lane[]): Promise<void> {
    const note = await this.ensureWithin(db, lanes)
    note()
  }

  /** The same within a transaction. The caller calls the returned function after the commit. */
  async ensureWithin(tx: Queryable, lanes: readonly Lane[]): Promise<() => void> {
    const missing = lanes.filter(({ id }) => !this.#isKnown(id))
    if (missing.length > 0) await tx.run(restoreLanes(missing.map((lane) => ({ ...lane, isCatchUp: false }))))
    return () => this.#note(missing)
  }

  #isKnown(id: number): boolean {
    return this.#known.get(id) === true
  }

  #note(lanes: readonly Lane[]): void {
    for (const { id } of lanes) this.#known.set(id, true)
  }
}

/** Registers side lanes before runs are put there. They are remembered for a much shorter time than an unused one is kept. */
export class SideLaneRegistry {
  readonly #known = growingCache<number, true>(MAX_LANES_KNOWN, { ttl: SIDES_REMEMBERED_MS })

  /** Returns those of the lanes that exist, and calls `onNew` if some may have been created. */
  async ensure(
    db: Queryable,
    lanes: readonly SideLane[],
    onNew: () => void = () => {},
  ): Promise<ReadonlySet<number>> {
    const all = new Map(lanes.map((lane) => [lane.id, lane]))
    const missing = [...all.values()].filter(({ id }) => !this.#known.has(id))
    const made = missing.length === 0 ? [] : await db.run(registerSideLanes(missing))
    for (const { id } of made) this.#known.set(id, true)
    if (made.length > 0) onNew()
    return new Set([...all.keys()].filter((id) => this.#known.has(id)))
  }
}

const SIDES_REMEMBERED_MS = 600_000
const REMEMBERED_MS = 3_600_000
const MAX_LANES_KNOWN = 100_000
