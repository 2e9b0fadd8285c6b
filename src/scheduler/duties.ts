import { LoopService } from '../runtime/loop-service.ts'
import type { DueRow } from '../store/agenda/agenda.ts'
import type { Database } from '../store/database/database.ts'
import { SetAside } from '../store/database/set-aside.ts'
import type { Logger } from '../telemetry/logger.ts'

/** Something that is to be done to a task, by a row of the agenda that is no run. */
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
 * Carries out what is to be done to tasks at an instant, one after the other. The row is taken by the
 * transaction that does it, so of two nodes that try one does, and what fails is tried again.
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
   * One pass over what waits. One that is refused is added again when its row is read again; anything else that fails
   * ends the pass, and the next begins with that.
   */
  async runOnce(): Promise<undefined> {
    for (const duty of [...this.#waiting.values()]) {
      await this.#aside.each([duty], () => this.#carryOut(duty))
      this.#waiting.delete(duty.runId)
    }
  }
}
