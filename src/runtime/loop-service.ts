import { Loop, type LoopOptions } from './loop.ts'
import type { Service } from './service.ts'

/**
 * A background service that makes one pass after another until it is stopped. Subclasses document what a pass does. If several
 * instances run at once, a pass locks what it works on with a row of the database.
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

  /**
   * Makes one pass; tests call this instead of waiting for the timer. Returns the milliseconds until the next pass, if it
   * should be sooner than usual.
   */
  abstract runOnce(): Promise<number | undefined>
}
