import type { Logger } from '../runtime/logger.ts'
import { LoopService } from '../runtime/loop-service.ts'
import type { DueRow } from '../store/agenda.ts'

/** Something that is to be done to a task, by a row of the agenda that is no run. */
export interface Duty {
  readonly runId: string
  readonly kind: 'resume' | 'skip'
}

const IDLE_MS = 60_000

/**
 * Carries out what is to be done to tasks at an instant, one after the other. The row is taken by the
 * transaction that does it, so of two nodes that try one does, and what fails is tried again.
 */
export class Duties extends LoopService {
  readonly #carryOut: (duty: Duty) => Promise<void>
  readonly #waiting = new Map<string, Duty>()

  constructor({ log, carryOut }: { log: Logger; carryOut: (duty: Duty) => Promise<void> }) {
    super({ name: 'duties', everyMs: IDLE_MS, log })
    this.#carryOut = carryOut
  }

  add({ runId, kind }: DueRow): void {
    if (kind !== 'resume' && kind !== 'skip') return
    this.#waiting.set(runId, { runId, kind })
    this.wake()
  }

  /** One pass over what waits; it ends at the first that fails, and the next pass begins with that. */
  async runOnce(): Promise<undefined> {
    for (const duty of [...this.#waiting.values()]) {
      await this.#carryOut(duty)
      this.#waiting.delete(duty.runId)
    }
  }
}
