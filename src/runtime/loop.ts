import type { Logger } from '../telemetry/logger.ts'
import type { Service } from './service.ts'

export interface LoopOptions {
  readonly name: string
  /** Pause between passes; `runOnce` may request a shorter one by returning milliseconds. */
  readonly everyMs: number
  readonly log: Logger
  /** Makes one pass. A returned number is the pause until the next one in milliseconds, at most `everyMs`. */
  runOnce(): Promise<number | undefined>
}

const FIRST_BACKOFF_MS = 100
const LONGEST_BACKOFF_MS = 5_000
/**
 * A pause after a failure is randomly shortened by up to this part, so that loops that failed together retry at different
 * times.
 */
const SPREAD = 0.5

/** Loops of this process whose last pass failed. */
const failing = new Set<Loop>()

/**
 * Runs one pass after another until stopped. Errors are caught only at the top: a pass that throws is logged and retried after
 * increasing pauses. `wake` ends a pause early.
 *
 * Loops fail nearly always because of the database, which all of them share. So the first loop that succeeds again ends the
 * pauses of the others: all of them recover together, and until then each retries rarely.
 */
export class Loop implements Service {
  readonly #options: LoopOptions
  #stopped = true
  #woken = false
  #failures = 0
  #endPause: (() => void) | undefined
  #finished: Promise<void> = Promise.resolve()

  constructor(options: LoopOptions) {
    this.#options = options
  }

  start(): void {
    if (!this.#stopped) return
    this.#stopped = false
    this.#finished = this.#run()
  }

  async stop(): Promise<void> {
    this.#stopped = true
    this.#endPause?.()
    await this.#finished
    failing.delete(this)
  }

  wake(): void {
    this.#woken = true
    this.#endPause?.()
  }

  async #run(): Promise<void> {
    const { everyMs, runOnce, log, name } = this.#options
    while (!this.#stopped) {
      this.#woken = false
      let pauseMs = everyMs
      try {
        pauseMs = Math.min(everyMs, (await runOnce()) ?? everyMs)
        if (this.#failures > 0) this.#recover()
      } catch (error) {
        this.#failures++
        this.#woken = false
        failing.add(this)
        const backoffMs = Math.min(LONGEST_BACKOFF_MS, FIRST_BACKOFF_MS * 2 ** Math.min(this.#failures, 10))
        pauseMs = Math.round(backoffMs * (1 - SPREAD * Math.random()))
        log.warn(
          { err: error, loop: name, failures: this.#failures, retryInMs: pauseMs },
          `${name}: pass failed`,
        )
      }
      if (!this.#stopped && !this.#woken && pauseMs > 0) await this.#pause(pauseMs)
    }
  }

  #recover(): void {
    this.#failures = 0
    failing.delete(this)
    for (const loop of failing) loop.#endPause?.()
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.#endPause?.(), ms)
      this.#endPause = () => {
        clearTimeout(timer)
        this.#endPause = undefined
        resolve()
      }
    })
  }
}
