import { catchUpLaneOf, laneOf } from '../core/run/lane.ts'
import { LoopService } from '../runtime/loop-service.ts'
import type { Database } from '../store/database/database.ts'
import {
  cluesToLanes,
  type LaneClue,
  type LostLane,
  lookForLostLanes,
  restoreLanes,
} from '../store/queues/lost-lanes.ts'
import type { Logger } from '../telemetry/logger.ts'
import type { Putting } from '../transport/transport.ts'
import type { WakeUps } from '../transport/wake-ups.ts'

export interface LaneRepairOptions {
  readonly db: Database
  readonly transport: Putting
  readonly wakeUps: WakeUps
  readonly log: Logger
}

/** Runs that wait in an unregistered lane are found within this time. */
const EVERY_MS = 3_000
/** Number of occupied lanes examined in one pass; the next pass continues from there. */
const LANES_PER_PASS = 5_000
/** Maximum number of lanes registered by one statement. */
const RESTORED_AT_ONCE = 100
/** Maximum number of runs moved out of side lanes by one statement. */
const MOVED_AT_ONCE = 1_000
/** Maximum number of reported lanes that no definition explains. */
const MAX_REPORTED = 1_000
const BEFORE_ALL = -1

/**
 * Restores the registration of lanes in which runs wait: workers claim only from registered lanes. A queue that was removed as
 * unused takes its lanes with it, and a node that still has one of them cached may put a run there. Safe to run on every node
 * at once: existing lanes do not change.
 */
export class LaneRepair extends LoopService {
  readonly #options: LaneRepairOptions
  readonly #reported = new Set<number>()
  #position = BEFORE_ALL

  constructor(options: LaneRepairOptions) {
    super({ name: 'lane repair', everyMs: EVERY_MS, log: options.log })
    this.#options = options
  }

  async runOnce(): Promise<undefined> {
    const { db } = this.#options
    const [look] = await db.run(lookForLostLanes({ after: this.#position, limit: LANES_PER_PASS }))
    this.#position = look?.last ?? BEFORE_ALL
    const lost = look?.lost ?? []
    for (let i = 0; i < lost.length; i += RESTORED_AT_ONCE)
      await this.#restore(lost.slice(i, i + RESTORED_AT_ONCE))
  }

  async #restore(lost: readonly number[]): Promise<void> {
    const { db, transport, log, wakeUps } = this.#options
    const moved = await transport.leaveSideLanes(lost, MOVED_AT_ONCE)
    if (moved.length > 0) {
      log.warn(
        { runs: moved.length },
        'runs waited in side lanes that were not registered; they were moved back',
      )
      wakeUps.announceReady()
    }
    const clues = await db.run(cluesToLanes(lost))
    const explained = clues.flatMap((clue) => laneFrom(clue) ?? [])
    // If several versions explain a lane, the newest determines the number of slots of its key.
    const byId = new Map(explained.map((lane) => [lane.id, lane]))
    const lanes = [...byId.values()]
    this.#reportUnexplained(clues, byId)
    if (lanes.length === 0) return
    await db.run(restoreLanes(lanes))
    log.warn(
      { queues: [...new Set(lanes.map(({ queue }) => queue))], lanes: lanes.length },
      'runs waited in lanes that were not registered; the lanes were registered again',
    )
    wakeUps.announceQueues()
  }

  /** Reports once a lane whose name follows from no version of the task, which therefore cannot be registered. */
  #reportUnexplained(clues: readonly LaneClue[], explained: ReadonlyMap<number, LostLane>): void {
    for (const { lane, runId, taskId } of clues) {
      if (explained.has(lane) || this.#reported.has(lane) || this.#reported.size === MAX_REPORTED) continue
      this.#reported.add(lane)
      this.#options.log.error(
        { lane, run: runId, task: taskId },
        'a run waits in a lane that is not registered and that no version of its task explains',
      )
    }
  }
}

/** Returns the lane of a clue, if the missing lane is the task's own lane or its lane of catch-up runs. */
function laneFrom({ lane, projectId, definition }: LaneClue): LostLane | null {
  const own = laneOf(projectId, definition)
  if (own.id === lane) return { ...own, isCatchUp: false }
  const hasCatchUpLane = own.gate === null && own.handler === null
  return hasCatchUpLane && catchUpLaneOf(own.id) === lane ? { ...own, id: lane, isCatchUp: true } : null
}
