import { LoopService } from '../runtime/loop-service.ts'
import type { Logger } from '../telemetry/logger.ts'
import type { Due } from './due-queue.ts'
import { Missed, needsCatchUp } from './missed.ts'
import type { ShardLeases } from './shard-leases.ts'

export interface CatchUpWriterOptions {
  readonly log: Logger
  readonly leases: ShardLeases
  /** After an unwatched period no longer than this, the newest occurrence runs late under every misfire policy. */
  readonly misfireGraceMs: number
}

/** What the scheduler provides. */
export interface Firing {
  isBusy(taskId: string): boolean
  /** Reserves a row that waits here, so that it is not read again meanwhile. */
  reserve(due: Due): void
  fire(dues: readonly Due[]): Promise<void>
  /** Reports that rows were fired, so that there may be room for more. */
  hasFired(): void
}

/**
 * One statement writes about this many rows, unless a single task has more. The next follows after a pause of at least PACE_MS
 * and at least PAUSE times as long as the statement took: computing and writing a few hundred rows would delay runs on time by
 * more than the time they may be late.
 */
const ROWS = 100
const PACE_MS = 10
const PAUSE = 2
const IDLE_MS = 1_000

/**
 * Writes the catch-up runs of tasks that missed occurrences in an outage. This may take long and must not delay runs on time,
 * so it handles a few tasks at a time, in its own loop.
 */
export class CatchUpWriter extends LoopService {
  readonly #options: CatchUpWriterOptions
  readonly #firing: Firing
  readonly #missed = new Missed()

  constructor(options: CatchUpWriterOptions, firing: Firing) {
    super({ name: 'write catch-up', everyMs: IDLE_MS, log: options.log })
    this.#options = options
    this.#firing = firing
  }

  /** Number of rows that wait here. */
  get size(): number {
    return this.#missed.size
  }

  /** Keeps the rows whose tasks must catch up on missed occurrences; returns the rest. */
  setAside(taken: readonly Due[]): readonly Due[] {
    const { leases, misfireGraceMs } = this.#options
    const onTime: Due[] = []
    for (const due of taken) {
      const lease = leases.get(due.row.shard)
      if (lease && needsCatchUp(due, lease.unwatched, misfireGraceMs)) this.#add(due)
      else onTime.push(due)
    }
    if (onTime.length < taken.length) this.wake()
    return onTime
  }

  #add(due: Due): void {
    this.#firing.reserve(due)
    this.#missed.add(due)
  }

  /** Removes everything in shards that this node no longer owns; returns what was removed. */
  retain(isWatched: (shard: number) => boolean): readonly Due[] {
    return this.#missed.retain(isWatched)
  }

  /** Writes the catch-up runs of some tasks; returns how long to rest until the next. */
  async runOnce(): Promise<number | undefined> {
    const some = this.#missed.take(ROWS, (taskId) => this.#firing.isBusy(taskId))
    const begunAt = performance.now()
    if (some.length > 0) await this.#firing.fire(some)
    this.#firing.hasFired()
    return this.#missed.size > 0 ? Math.max(PACE_MS, PAUSE * (performance.now() - begunAt)) : undefined
  }
}
