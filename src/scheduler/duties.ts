import { LoopService } from '../runtime/loop-service.ts'
import type { DueRow } from '../store/agenda/look-ahead.ts'
import type { Database } from '../store/database/database.ts'
import { SetAside } from '../store/database/set-aside.ts'
import type { Logger } from '../telemetry/logger.ts'

/** An action on a task that is due at an instant. Its agenda row is not a run. */
export interface Duty {
  readonly runId: string
  readonly kind: 'resume' | 'skip'
}

const IDLE_MS = 60_000

export interface DutiesOptions {
  readonly db: Database
  readonly log: Logger
  carryOut(duty: Duty): Promise<void>
}

/**
 * Performs due actions on tasks, one after the other. The transaction that performs an action also takes its row, so if two
 * nodes try, only one does it; a failed action is tried again.
 */
export class Duties extends LoopService {
  readonly #carryOut: (duty: Duty) => Promise<void>
  readonly #waiting = new Map<string, Duty>()
  readonly #aside: SetAside<Duty>

  constructor({ db, log, carryOut }: DutiesOptions) {
    super({ name: 'duties', everyMs: IDLE_MS, log })
    this.#carryOut = carryOut
    const subjectOf = ({ runId }: Duty) => ({ id: runId, runId })
    this.#aside = new SetAside({ operation: 'duty', db, log, subjectOf })
  }

  add({ runId, kind }: DueRow): void {
    if (kind !== 'resume' && kind !== 'skip') return
    if (this.#aside.isResting({ runId, kind })) return
    this.#waiting.set(runId, { runId, kind })
    this.wake()
  }

  /**
   * Makes one pass over the waiting duties. A duty that PostgreSQL refuses is added again when its row is read again; any other
   * failure ends the pass, and the next pass begins with that duty.
   */
  async runOnce(): Promise<undefined> {
    for (const duty of [...this.#waiting.values()]) {
      await this.#aside.each([duty], () => this.#carryOut(duty))
      this.#waiting.delete(duty.runId)
    }
  }
}
