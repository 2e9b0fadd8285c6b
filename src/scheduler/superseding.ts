import { uuidv7 } from '../core/ids.ts'
import { LoopService } from '../runtime/loop-service.ts'
import type { DueRow } from '../store/agenda/agenda.ts'
import { activeBefore, type HeldRun, tellBefore } from '../store/agenda/superseding.ts'
import type { Database } from '../store/database/database.ts'
import { withDeadlockRetry } from '../store/database/retry-on-deadlock.ts'
import { SetAside } from '../store/database/set-aside.ts'
import { cancelRuns, lockRuns, lockTaskRow, wakeHeld } from '../store/tasks/task-statements.ts'
import type { Logger } from '../telemetry/logger.ts'
import type { WakeUps } from '../transport/wake-ups.ts'

const IDLE_MS = 60_000
/** Held runs for which one statement tells others to stop. */
const BATCH = 500

/**
 * Ends what a held run of a `cancel_previous` task waits for. The held row is stored before anything is
 * cancelled and looked at again each second, so a node that dies in between leaves it to the next one.
 */
export class Superseding extends LoopService {
  readonly #db: Database
  readonly #wakeUps: WakeUps
  readonly #aside: SetAside<HeldRun>
  /** What waits, by task: the latest takes the place of earlier ones. */
  readonly #waiting = new Map<string, string>()

  constructor({ db, wakeUps, log }: { db: Database; wakeUps: WakeUps; log: Logger }) {
    super({ name: 'superseding', everyMs: IDLE_MS, log })
    this.#db = db
    this.#wakeUps = wakeUps
    const subjectOf = ({ runId, taskId }: HeldRun) => ({ id: runId, runId, taskId })
    this.#aside = new SetAside({ operation: 'supersede', db, log, subjectOf })
  }

  /** A row is held and takes the place of what is active. */
  add({ taskId, runId }: DueRow): void {
    this.#waiting.set(taskId, runId)
    this.wake()
  }

  /** One pass over what waits; what fails here is added again when its row is looked at again. */
  async runOnce(): Promise<undefined> {
    const waiting = [...this.#waiting]
      .map(([taskId, runId]): HeldRun => ({ taskId, runId }))
      .filter((held) => !this.#aside.isResting(held))
    this.#waiting.clear()
    for (let i = 0; i < waiting.length; i += BATCH) await this.#stopBefore(waiting.slice(i, i + BATCH))
  }

  /** Mostly a worker has what is in the way, and telling it is one statement for all tasks. */
  async #stopBefore(waiting: readonly HeldRun[]): Promise<void> {
    const left = new Set<string>()
    const refused = await this.#aside.each(waiting, async (part) => {
      const [told] = await this.#db.run(tellBefore(part))
      if (told && told.count > 0) this.#wakeUps.announceCancel()
      for (const runId of told?.left ?? []) left.add(runId)
    })
    for (const held of waiting)
      if (left.has(held.runId) && !refused.includes(held))
        await this.#aside.each([held], () => this.#cancelBefore(held))
  }

  /** Ends what no worker has, and tells what one has got meanwhile. */
  async #cancelBefore({ taskId, runId }: HeldRun): Promise<void> {
    const { hints, hasTold } = await withDeadlockRetry(this.#db, async (tx) => {
      await tx.run(lockTaskRow(taskId))
      await tx.run(lockRuns({ taskId, runId: null }))
      const cancelled = []
      for (const active of await tx.run(activeBefore({ taskId, runId })))
        cancelled.push(...(await tx.run(cancelRuns({ taskId, runId: active.runId, nextRunId: uuidv7() }))))
      const hasEnded = cancelled.some(({ wasRunning }) => !wasRunning)
      return {
        hints: hasEnded ? await tx.run(wakeHeld(taskId)) : [],
        hasTold: cancelled.some(({ wasRunning }) => wasRunning),
      }
    })
    if (hints.length > 0) this.#wakeUps.announceDue(hints)
    if (hasTold) this.#wakeUps.announceCancel()
  }
}
