import type { LRUCache } from 'lru-cache'
import type { Lane, SideLane } from '../core/run/lane.ts'
import { growingCache } from '../runtime/growing-cache.ts'
import type { Queryable } from '../store/database/database.ts'
import { registerLanes } from '../store/queues/queues.ts'
import { registerSideLanes } from '../store/queues/side-lanes.ts'

/**
 * This process makes each lane known once an hour, and when its limits change: so a queue counts as used as long as it is, and
 * nothing is remembered of one that was removed.
 */
export class LaneRegistry {
  readonly #known: LRUCache<number, string>

  constructor(now: () => number = () => performance.now()) {
    this.#known = growingCache(MAX_LANES_KNOWN, { ttl: REMEMBERED_MS, ttlResolution: 0, perf: { now } })
  }

  /** Registers what is not known yet, before any row refers to it. */
  async ensure(db: Queryable, lanes: readonly Lane[]): Promise<void> {
    const note = await this.ensureWithin(db, lanes)
    note()
  }

  /** The same within a transaction. What it answers is called once that is committed. */
  async ensureWithin(tx: Queryable, lanes: readonly Lane[]): Promise<() => void> {
    const missing = lanes.filter((lane) => this.#known.get(lane.id) !== limitsOf(lane))
    if (missing.length > 0) await tx.run(registerLanes(missing))
    return () => {
      for (const lane of missing) this.#known.set(lane.id, limitsOf(lane))
    }
  }
}

const limitsOf = ({ gate }: Lane): string => (gate ? `${gate.places} ${gate.rate} ${gate.burst}` : '')

/** Makes side lanes known before runs are put there. It remembers them for much less time than they stay unused. */
export class SideLaneRegistry {
  readonly #known = growingCache<number, true>(MAX_LANES_KNOWN, { ttl: SIDES_REMEMBERED_MS })

  /** Answers those of the lanes that are there, and says so when some of them may have been made. */
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
