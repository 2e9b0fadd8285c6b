import { LoopService } from '../runtime/loop-service.ts'
import { liveRuns } from '../store/backfills/backfill-runs.ts'
import {
  type BackfillProgress,
  endBackfill,
  findBackfills,
  type LockedBackfill,
  lockBackfill,
  saveBackfill,
} from '../store/backfills/backfills.ts'
import { type Database, isRefused, type Queryable } from '../store/database/database.ts'
import { SetAside } from '../store/database/set-aside.ts'
import type { Logger } from '../telemetry/logger.ts'
import type { Definitions } from '../transport/definitions.ts'
import type { DueHint, WakeUps } from '../transport/wake-ups.ts'
import { lookAgainAt, roomFor, writeSlice } from './backfill-slice.ts'

export interface BackfillerOptions {
  readonly db: Database
  readonly definitions: Definitions
  readonly wakeUps: WakeUps
  readonly log: Logger
}

const EVERY_MS = 1_000
/** Interval for a backfill whose runs are all written, until they have ended. */
const UNTIL_ENDED_MS = 250
/** Maximum number of backfills examined in one pass. */
const MAX_A_PASS = 50

/**
 * Puts the runs of backfills on the agenda, one slice at a time. Safe to run on every node at once: the node that locks the row
 * of a backfill writes its next slice and its progress in one transaction; other nodes skip the row.
 */
export class Backfiller extends LoopService {
  readonly #options: BackfillerOptions
  readonly #aside: SetAside<LockedBackfill>

  constructor(options: BackfillerOptions) {
    const { db, log } = options
    super({ name: 'backfill', everyMs: EVERY_MS, log })
    this.#options = options
    this.#aside = new SetAside({
      ...{ operation: 'backfill', db, log },
      subjectOf: ({ id, taskId }) => ({ id, taskId }),
    })
  }

  /** Makes one pass over the backfills to be examined and returns when to make the next. */
  async runOnce(): Promise<number | undefined> {
    let soonest: number | undefined
    for (let i = 0; i < MAX_A_PASS; i++) {
      const waitMs = await this.#look()
      if (waitMs === undefined) return soonest
      soonest = Math.min(waitMs, soonest ?? waitMs)
    }
    return 0
  }

  /** Examines one backfill; returns how long until the next look, undefined if there was none to examine. */
  async #look(): Promise<number | undefined> {
    let locked: LockedBackfill | undefined
    try {
      const waitMs = await this.#lookAt((backfill) => {
        locked = backfill
      })
      if (locked) await this.#aside.settle([locked])
      return waitMs
    } catch (error) {
      if (!locked || !isRefused(error)) throw error
      await this.#aside.refuse(locked, error)
      return EVERY_MS
    }
  }

  async #lookAt(onLocked: (backfill: LockedBackfill) => void): Promise<number | undefined> {
    const { db, wakeUps } = this.#options
    const hints: DueHint[] = []
    const waitMs = await db.transaction(async (tx) => {
      hints.length = 0
      const [backfill] = await tx.run(lockBackfill(this.#aside.restingIds))
      if (!backfill) return undefined
      onLocked(backfill)
      const progress = await this.#goOn(tx, backfill, hints)
      if (progress === null) return 0
      await tx.run(saveBackfill(progress))
      return Math.max(0, progress.lookAt - backfill.now)
    })
    if (hints.length > 0) wakeUps.announceDue(hints)
    return waitMs
  }

  /** Writes the next slice if there is room for one; returns null if the backfill has ended. */
  async #goOn(tx: Queryable, backfill: LockedBackfill, hints: DueHint[]): Promise<BackfillProgress | null> {
    const { taskId, number, version, now, isWritten } = backfill
    const [live] = await tx.run(liveRuns({ taskId, number }))
    const { own, active } = live as { own: number; active: number }
    if (isWritten && own === 0) return this.#end(tx, backfill)
    if (isWritten) return { ...backfill, lookAt: now + UNTIL_ENDED_MS }
    const room = roomFor(backfill, { own, active })
    if (room === 0) return { ...backfill, lookAt: lookAgainAt(backfill) }
    // A cached definition is safe here: a version never changes.
    const [definition] = await this.#options.definitions.of([{ runId: backfill.id, taskId, version }])
    if (!definition) return this.#end(tx, backfill)
    return writeSlice(tx, { backfill, definition, room }, hints)
  }

  async #end(tx: Queryable, { id, projectId, taskId }: LockedBackfill): Promise<null> {
    const [counts] = await tx.run(findBackfills({ projectId, id, taskId, limit: 1 }))
    if (counts) await tx.run(endBackfill({ id, counts }))
    this.#options.log.info({ backfill: id, task: taskId, runs: counts?.started }, 'backfill completed')
    return null
  }
}
