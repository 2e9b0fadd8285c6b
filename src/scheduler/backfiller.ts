import { BEHIND_ON_TIME, nextOfRange } from '../core/backfill.ts'
import { shardOf, uuidv7 } from '../core/ids.ts'
import { laneOf } from '../core/lane.ts'
import { rateGapMs } from '../core/rate.ts'
import { planOf, type TaskDefinition } from '../core/task.ts'
import type { Logger } from '../runtime/logger.ts'
import { Loop } from '../runtime/loop.ts'
import type { Service } from '../runtime/service.ts'
import {
  type BackfillRun,
  endBackfill,
  findBackfills,
  type HeldBackfill,
  holdBackfill,
  insertBackfillRuns,
  liveRuns,
  type Progress,
  saveBackfill,
  unfilled,
} from '../store/backfills.ts'
import type { Database, Queryable } from '../store/database.ts'
import type { Definitions } from '../store/definitions.ts'
import type { DueHint, WakeUps } from '../transport/wake-ups.ts'

export interface BackfillerOptions {
  readonly db: Database
  readonly definitions: Definitions
  readonly wakeUps: WakeUps
  readonly log: Logger
}

const EVERY_MS = 1_000
/** A backfill that waits for its own runs is looked at again after this time. */
const SOON_MS = 50
/** One of which everything is written, until it has ended. */
const UNTIL_ENDED_MS = 250
/** Runs of one backfill that may be live at once: what is due on time never has to be looked for among many more. */
const MAX_LIVE = 500
/** Occurrences that are looked at beyond the runs that there is room for: some of them need none. */
const EXAMINED_BEYOND = 200
/** Under a rate, runs are written this long before they may begin. */
const AHEAD_MS = 2_000
/** Backfills looked at in one pass. */
const MAX_A_PASS = 50

/**
 * Puts the runs of backfills on the agenda, a slice at a time. Safe on every node at once: whoever holds the row
 * of a backfill writes its next slice, and how far it has come, in one transaction; the others pass it by.
 */
export class Backfiller implements Service {
  readonly #options: BackfillerOptions
  readonly #loop: Loop

  constructor(options: BackfillerOptions) {
    this.#options = options
    this.#loop = new Loop({
      name: 'backfill',
      everyMs: EVERY_MS,
      log: options.log,
      runOnce: () => this.runOnce(),
    })
  }

  start(): void {
    this.#loop.start()
  }

  stop(): Promise<void> {
    return this.#loop.stop()
  }

  /** One pass over what is to be looked at; answers when to look again. */
  async runOnce(): Promise<number | undefined> {
    let soonest: number | undefined
    for (let i = 0; i < MAX_A_PASS; i++) {
      const waitMs = await this.#look()
      if (waitMs === undefined) return soonest
      soonest = Math.min(waitMs, soonest ?? waitMs)
    }
    return 0
  }

  /** Looks at one backfill; answers how long it may be left alone, undefined when there was none to look at. */
  async #look(): Promise<number | undefined> {
    const { db, wakeUps } = this.#options
    const hints: DueHint[] = []
    const waitMs = await db.transaction(async (tx) => {
      hints.length = 0
      const [backfill] = await tx.run(holdBackfill())
      if (!backfill) return undefined
      const progress = await this.#goOn(tx, backfill, hints)
      if (progress === null) return 0
      await tx.run(saveBackfill(progress))
      return Math.max(0, progress.lookAt - backfill.now)
    })
    if (hints.length > 0) wakeUps.announceDue(hints)
    return waitMs
  }

  /** Writes the next slice, if there is room for one; null when the backfill has ended. */
  async #goOn(tx: Queryable, backfill: HeldBackfill, hints: DueHint[]): Promise<Progress | null> {
    const { taskId, number, version, now, isWritten } = backfill
    const [live] = await tx.run(liveRuns({ taskId, number }))
    const { own, active } = live as { own: number; active: number }
    if (isWritten && own === 0) return this.#end(tx, backfill)
    if (isWritten) return { ...backfill, lookAt: now + UNTIL_ENDED_MS }
    const room = roomFor(backfill, { own, active })
    if (room === 0) return { ...backfill, lookAt: lookAgainAt(backfill) }
    // The definition is read as of now: a version never changes.
    const [definition] = await this.#options.definitions.of([{ runId: backfill.id, taskId, version }])
    if (!definition) return this.#end(tx, backfill)
    return this.#writeSlice(tx, { backfill, definition, room }, hints)
  }

  async #writeSlice(
    tx: Queryable,
    { backfill, definition, room }: { backfill: HeldBackfill; definition: TaskDefinition; room: number },
    hints: DueHint[],
  ): Promise<Progress> {
    const { taskId, projectId, force, now } = backfill
    const limit = room + EXAMINED_BEYOND
    const examined = nextOfRange(planOf(definition), backfill, limit)
    const wanted = new Set(
      examined.length === 0
        ? []
        : (await tx.run(unfilled({ taskId, instants: examined, force }))).map(({ at }) => Math.round(at)),
    )
    const taken = examined.filter((at) => wanted.has(at)).slice(0, room)
    const isCut = taken.length < wanted.size
    const seen = isCut ? examined.indexOf(taken.at(-1) as number) + 1 : examined.length
    const gapMs = gapOf(backfill)
    const firstAt = Math.max(now, backfill.nextAt)
    const runs = taken.map(
      (at, i): BackfillRun => ({ runId: uuidv7(), at, wakeAt: Math.ceil(firstAt + i * gapMs) }),
    )
    const shard = shardOf(taskId)
    if (runs.length > 0) {
      const lane = laneOf(projectId, definition).id
      const priority = definition.priority + BEHIND_ON_TIME
      await tx.run(insertBackfillRuns(runs, { backfill, shard, lane, priority }))
      hints.push({ shard, at: runs[0]?.wakeAt ?? now, until: runs.at(-1)?.wakeAt ?? now })
    }
    const started = backfill.started + taken.length
    const isWritten = (!isCut && examined.length < limit) || started === backfill.maxRuns
    const nextAt = taken.length === 0 ? backfill.nextAt : firstAt + taken.length * gapMs
    return {
      id: backfill.id,
      position: examined[seen - 1] ?? backfill.position,
      started,
      passedOver: backfill.passedOver + seen - taken.length,
      isWritten,
      nextAt,
      lookAt: taken.length === 0 ? now : lookAgainAt({ ...backfill, nextAt }),
    }
  }

  async #end(tx: Queryable, { id, projectId, taskId }: HeldBackfill): Promise<null> {
    const [counts] = await tx.run(findBackfills({ projectId, id, taskId, limit: 1 }))
    if (counts) await tx.run(endBackfill({ id, counts }))
    this.#options.log.info({ backfill: id, task: taskId, runs: counts?.started }, 'backfill completed')
    return null
  }
}

const gapOf = ({ rate }: Pick<HeldBackfill, 'rate'>): number => (rate === null ? 0 : rateGapMs(rate))

/** How many runs may be written now: as many as there is room for, the rate lets begin soon, and were asked for. */
function roomFor(backfill: HeldBackfill, live: { own: number; active: number }): number {
  const { rate, now, nextAt, oneByOne, maxRuns, started } = backfill
  const places = oneByOne ? (live.active === 0 ? 1 : 0) : MAX_LIVE - live.own
  // A slice costs as much for one run as for many: it waits until half of the last one has gone.
  const room = oneByOne || live.own <= MAX_LIVE / 2 ? places : 0
  const left = maxRuns === null ? room : Math.min(room, maxRuns - started)
  if (rate === null) return left
  const soonMs = now + AHEAD_MS - Math.max(now, nextAt)
  return soonMs < 0 ? 0 : Math.min(left, Math.floor(soonMs / gapOf(backfill)) + 1)
}

/** When there may be room again. */
const lookAgainAt = ({ now, nextAt }: Pick<HeldBackfill, 'now' | 'nextAt'>): number =>
  Math.max(now + SOON_MS, nextAt - AHEAD_MS / 2)
