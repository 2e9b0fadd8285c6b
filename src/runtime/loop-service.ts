import { Loop, type LoopOptions } from './loop.ts'
import type { Service } from './service.ts'

/**
 * A background part that makes one pass after another from its start to its stop. What such a part says of itself is its
 * pass. Where several of its kind run at once, a pass holds what it works on by a row of the database.
 */
export abstract class LoopService implements Service {
  readonly #loop: Loop

  protected constructor(options: Omit<LoopOptions, 'runOnce'>) {
    this.#loop = new Loop({ ...options, runOnce: () => this.runOnce() })
  }

  start(): void {
    this.#loop.start()
  }

  /** Resolves when the pass in hand has finished. */
  stop(): Promise<void> {
    return this.#loop.stop()
  }

  /** Cuts the pause before the next pass short. */
  protected wake(): void {
    this.#loop.wake()
  }

  /** One pass; tests call this instead of waiting for the timer. Answers when to look again, if that is soon. */
  abstract runOnce(): Promise<number | undefined>
}
