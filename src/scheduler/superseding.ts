import { uuidv7 } from '../core/ids.ts'
import { LoopService } from '../runtime/loop-service.ts'
import type { DueRow } from '../store/agenda/look-ahead.ts'
import { activeBefore, type HeldRun, tellBefore } from '../store/agenda/superseding.ts'
import type { Database } from '../store/database/database.ts'
import { withDeadlockRetry } from '../store/database/retry-on-deadlock.ts'
import { SetAside } from '../store/database/set-aside.ts'
import { cancelRuns, lockRuns, wakeHeld } from '../store/tasks/cancel.ts'
import { lockTaskRow } from '../store/tasks/locked-task.ts'
import type { Logger } from '../telemetry/logger.ts'
import type { WakeUps } from '../transport/wake-ups.ts'

const IDLE_MS = 60_000
/** Held runs for which one statement requests the cancellation of the active runs. */
const BATCH = 500

/**
 * Cancels the active runs that a held run of a `cancel_previous` task waits for. The held row is stored before anything is
 * cancelled and examined again each second, so if a node dies in between, the next owner continues.
 */
export class Superseding extends LoopService {
  readonly #db: Database
  readonly #wakeUps: WakeUps
  readonly #aside: SetAside<HeldRun>
  /** Held runs by task: the latest replaces earlier ones. */
  readonly #waiting = new Map<string, string>()

  constructor({ db, wakeUps, log }: { db: Database; wakeUps: WakeUps; log: Logger }) {
    super({ name: 'superseding', everyMs: IDLE_MS, log })
    this.#db = db
    this.#wakeUps = wakeUps
    const subjectOf = ({ runId, taskId }: HeldRun) => ({ id: runId, runId, taskId })
    this.#aside = new SetAside({ operation: 'supersede', db, log, subjectOf })
  }

  /** Adds a held run that supersedes the active ones. */
  add({ taskId, runId }: DueRow): void {
    this.#waiting.set(taskId, runId)
    this.wake()
  }

  /** Makes one pass over the held runs. One that fails is added again when its row is next examined. */
  async runOnce(): Promise<undefined> {
    const waiting = [...this.#waiting]
      .map(([taskId, runId]): HeldRun => ({ taskId, runId }))
      .filter((held) => !this.#aside.isResting(held))
    this.#waiting.clear()
    for (let i = 0; i < waiting.length; i += BATCH) await this.#stopBefore(waiting.slice(i, i + BATCH))
  }

  /** Usually a worker performs the run that is in the way; one statement signals the cancellation for all tasks. */
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

  /** Cancels runs that no worker has, and signals those that a worker has claimed meanwhile. */
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
