import { LoopService } from '../runtime/loop-service.ts'
import type { Logger } from '../telemetry/logger.ts'
import type { Due } from './due-queue.ts'
import { isMadeUpFor, Missed } from './missed.ts'
import type { ShardLeases } from './shard-leases.ts'

export interface RecoveringOptions {
  readonly log: Logger
  readonly leases: ShardLeases
  /** What was unwatched for no longer than this simply runs late. */
  readonly misfireGraceMs: number
}

/** What the scheduler does for it. */
export interface Firing {
  isBusy(taskId: string): boolean
  /** A row waits here: it must not be read again meanwhile. */
  reserve(due: Due): void
  fire(dues: readonly Due[]): Promise<void>
  /** Rows have gone, so there may be room for more. */
  hasFired(): void
}

/**
 * So many rows are laid out by one statement, unless one task alone has more, and the next after a pause of at least this and
 * twice as long as that took: working out and writing a few hundred keeps the process and the disk from what is on time for
 * longer than that can be late.
 */
const ROWS = 100
const PACE_MS = 10
const PAUSE = 2
const IDLE_MS = 1_000

/**
 * Lays out anew what an outage has missed and what is all to be made up for. It may take long to write that, and
 * nothing on time waits for it: a few tasks go at a time, in a loop of its own.
 */
export class Recovering extends LoopService {
  readonly #options: RecoveringOptions
  readonly #firing: Firing
  readonly #missed = new Missed()

  constructor(options: RecoveringOptions, firing: Firing) {
    super({ name: 'recover', everyMs: IDLE_MS, log: options.log })
    this.#options = options
    this.#firing = firing
  }

  /** Rows that wait here. */
  get size(): number {
    return this.#missed.size
  }

  /** Keeps what is to be made up for; answers the rest. */
  setAside(taken: readonly Due[]): readonly Due[] {
    const { leases, misfireGraceMs } = this.#options
    const onTime: Due[] = []
    for (const due of taken) {
      const held = leases.get(due.row.shard)
      if (held && isMadeUpFor(due, held.unwatched, misfireGraceMs)) this.#add(due)
      else onTime.push(due)
    }
    if (onTime.length < taken.length) this.wake()
    return onTime
  }

  #add(due: Due): void {
    this.#firing.reserve(due)
    this.#missed.add(due)
  }

  /** Forgets what is in shards that are no longer watched here; answers what it forgot. */
  retain(isWatched: (shard: number) => boolean): readonly Due[] {
    return this.#missed.retain(isWatched)
  }

  /** Lays out what some tasks have missed; answers how long to rest until the next. */
  async runOnce(): Promise<number | undefined> {
    const some = this.#missed.take(ROWS, (taskId) => this.#firing.isBusy(taskId))
    const begunAt = performance.now()
    if (some.length > 0) await this.#firing.fire(some)
    this.#firing.hasFired()
    return this.#missed.size > 0 ? Math.max(PACE_MS, PAUSE * (performance.now() - begunAt)) : undefined
  }
}
