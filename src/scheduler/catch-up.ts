/**
 * Fires catch-up runs beside the runs on time and never ahead of them: a few rows at a time, in its own loop, and none
 * while enough of them wait for a worker. Catch-up runs always go through `ready`, where they wait in lanes that workers serve
 * last.
 */
import type { OverlapPolicy } from '../core/task/task.ts'
import type { Clock } from '../runtime/clock.ts'
import { LoopService } from '../runtime/loop-service.ts'
import { catchUpStarts, postponeCatchUp, readCatchUp } from '../store/agenda/catch-up.ts'
import { setQueueTimeouts } from '../store/agenda/expiry.ts'
import type { FireRequest, FireResult } from '../store/agenda/fire.ts'
import { firePlain } from '../store/agenda/fire-plain.ts'
import { fireWithOverlap } from '../store/agenda/fire-with-overlap.ts'
import type { DueRow } from '../store/agenda/look-ahead.ts'
import type { Database } from '../store/database/database.ts'
import type { SetAside } from '../store/database/set-aside.ts'
import type { Statement } from '../store/database/sql.ts'
import type { Logger } from '../telemetry/logger.ts'
import type { Definitions } from '../transport/definitions.ts'
import type { BlackoutBook } from './blackout-book.ts'
import { paceCatchUp } from './catch-up-pace.ts'
import type { Due } from './due-queue.ts'
import { type Decided, queueTimeoutsOf } from './firing.ts'
import type { ShardLeases } from './shard-leases.ts'

export interface CatchUpOptions {
  readonly nodeId: string
  readonly db: Database
  readonly definitions: Definitions
  readonly clock: Clock
  readonly log: Logger
  readonly leases: ShardLeases
  readonly blackouts: BlackoutBook
}

/** Small enough that the statement that fires a batch hardly delays runs on time. */
const BATCH = 40
/** Minimum time between the starts of two batches. After a batch, the loop also rests for at least as long as the batch took. */
const PACE_MS = 15
/** Catch-up runs have no exact instant to keep, so rows that are nearly due are fired with the others. */
const LEAD_MS = 50
/** After something was fired, hints of more are followed for this long. */
const LINGER_MS = 10_000
/** Polling interval while there is nothing to fire. */
const EVERY_MS = 1_000
/** While this many catch-up runs wait for workers, no more are fired. */
const MAX_WAITING = 400

/** What the scheduler knows: whether a row of a task is being fired, and what to do with a row. */
export interface Firings {
  isBusy(taskId: string): boolean
  decide(rows: readonly { row: DueRow; definition: Decided['definition'] }[]): readonly Decided[]
  /** Rows that cannot be fired. */
  readonly aside: SetAside<{ readonly row: DueRow }>
}

/** The node and the shard leases in whose name rows are fired. */
type Right = Omit<FireRequest, 'firings'>

/**
 * Reports whether a row can be fired without regard to the other runs of its task and without delay. A statement for such rows
 * costs a tenth of the general one.
 */
const runsBesideOthers = ({ row, definition, decision }: Decided): boolean =>
  definition.overlap === 'allow' && row.state === 'scheduled' && decision.overlap?.deferUntil == null

export class CatchUp extends LoopService {
  readonly #options: CatchUpOptions
  readonly #firings: Firings
  /** Tasks of which a row is being fired here: only one statement at a time may decide about a task's overlap. */
  readonly #tasks = new Set<string>()
  #restsUntil = Number.NEGATIVE_INFINITY
  #busyUntil = Number.NEGATIVE_INFINITY

  constructor(options: CatchUpOptions, firings: Firings) {
    super({ name: 'catch-up', everyMs: EVERY_MS, log: options.log })
    this.#options = options
    this.#firings = firings
  }

  /** Announces that there are runs to catch up on. */
  override wake(): void {
    this.#busyUntil = performance.now() + LINGER_MS
    super.wake()
  }

  /** Handles a hint that a row has come due, which matters only while this loop has something to do. */
  hint(): void {
    if (performance.now() < this.#busyUntil) super.wake()
  }

  /** Whether a row of the task is being fired here: its other rows wait for the result. */
  isBusy(taskId: string): boolean {
    return this.#tasks.has(taskId)
  }

  /** Makes one pass and returns how long to rest until the next. */
  async runOnce(): Promise<number | undefined> {
    const { db, clock, leases } = this.#options
    const begunAt = performance.now()
    if (begunAt < this.#restsUntil) return this.#restsUntil - begunAt
    this.#restsUntil = begunAt + PACE_MS
    const shards = leases.ids.filter((id) => leases.get(id))
    if (shards.length === 0) return undefined
    const except = this.#firings.aside.restingIds
    const now = clock.now() + LEAD_MS
    const read = await db.run(
      readCatchUp({ shards, now, until: now + EVERY_MS, limit: BATCH, maxWaiting: MAX_WAITING, except }),
    )
    if (read.length > 0) this.#busyUntil = performance.now() + LINGER_MS
    const rows = read.filter(({ wakeAt }) => wakeAt <= now)
    if (rows.length === 0) return read.length === 0 ? undefined : Math.max(0, earliestOf(read) - now)
    await this.#fire(rows)
    const endedAt = performance.now()
    this.#restsUntil = Math.max(this.#restsUntil, endedAt + (endedAt - begunAt))
    // Of most tasks only one row is fired at a time, so there may be more even if few were read.
    return this.#restsUntil - endedAt
  }

  async #fire(rows: readonly DueRow[]): Promise<void> {
    const { definitions } = this.#options
    const read = await definitions.of(rows)
    await this.#options.blackouts.learn(rows)
    const known = rows.flatMap((row, i) => {
      const definition = read[i]
      return definition ? [{ row, definition }] : []
    })
    const allowed = await this.#paced(known)
    // Nothing is awaited between checking which tasks are busy and taking them, so no other loop can start on one of these
    // tasks.
    const mine = allowed.filter(({ row, definition }) => this.#take(row.taskId, definition.overlap))
    try {
      const decided = this.#firings.decide(mine)
      await this.#send(decided.filter(runsBesideOthers), (some, right) =>
        firePlain({ ...right, rows: some.map(({ row }) => row) }),
      )
      await this.#send(
        decided.filter((one) => !runsBesideOthers(one)),
        (some, right) =>
          fireWithOverlap({ ...right, firings: some.map((one) => ({ ...one, startNow: false })) }),
      )
    } finally {
      for (const { row } of mine) this.#tasks.delete(row.taskId)
    }
  }

  /** Returns the rows whose task's rate lets them start now; postpones the others. */
  async #paced(rows: readonly Due[]): Promise<readonly Due[]> {
    const { db, clock } = this.#options
    const firsts = new Map<string, DueRow>()
    for (const { row } of rows)
      if (row.scheduledFor < (firsts.get(row.taskId)?.scheduledFor ?? Number.POSITIVE_INFINITY))
        firsts.set(row.taskId, row)
    const starts = await db.run(catchUpStarts([...firsts.values()]))
    const { fired, postponed } = paceCatchUp(rows, new Map(starts.map((it) => [it.taskId, it])), clock.now())
    const later = postponed.map(({ due: { row }, at }) => ({ row, runId: row.runId, fence: row.fence, at }))
    if (later.length > 0)
      await this.#firings.aside.each(later, async (part) => {
        await db.run(postponeCatchUp(part as typeof later))
      })
    return fired
  }

  async #send(
    rows: readonly Decided[],
    fire: (rows: readonly Decided[], right: Right) => Statement<FireResult>,
  ): Promise<void> {
    if (rows.length === 0) return
    const { db, nodeId, leases } = this.#options
    await this.#firings.aside.each(rows, async (part) => {
      const some = part as readonly Decided[]
      const timeouts = queueTimeoutsOf(some)
      if (timeouts.length > 0) await db.run(setQueueTimeouts(timeouts))
      const shards = [...new Set(some.map(({ row }) => row.shard))].flatMap((id) => leases.get(id) ?? [])
      const [result] = await db.run(fire(some, { nodeId, shards, workerId: null }))
      if (result && result.lost.length > 0) leases.forget(result.lost)
    })
  }

  /**
   * Marks the task as busy; returns false if it must wait. One statement may fire several rows of a task only if its overlap
   * policy is `allow`, so that no row depends on another.
   */
  #take(taskId: string, overlap: OverlapPolicy): boolean {
    if (this.#firings.isBusy(taskId) || (this.#tasks.has(taskId) && overlap !== 'allow')) return false
    this.#tasks.add(taskId)
    return true
  }
}

const earliestOf = (rows: readonly DueRow[]) => Math.min(...rows.map(({ wakeAt }) => wakeAt))
