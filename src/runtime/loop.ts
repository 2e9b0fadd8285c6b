import type { Logger } from '../telemetry/logger.ts'
import type { Service } from './service.ts'

export interface LoopOptions {
  readonly name: string
  /** Pause between passes; `runOnce` may ask for a sooner one by returning milliseconds. */
  readonly everyMs: number
  readonly log: Logger
  /** Does one pass. A returned number is when to look again, never later than `everyMs`. */
  runOnce(): Promise<number | undefined>
}

const FIRST_BACKOFF_MS = 100
const LONGEST_BACKOFF_MS = 5_000
/** A pause after a failure is shorter by up to this part, so that loops that failed together try again at different times. */
const SPREAD = 0.5

/** Loops of this process whose last pass failed. */
const failing = new Set<Loop>()

/**
 * Runs one pass after another until stopped. It catches at its top and nowhere else: a pass that throws
 * is logged, waited for with growing pauses, and tried again. `wake` cuts a pause short.
 *
 * What lets loops fail is nearly always the database, which is the same for all of them: the first to succeed again ends
 * the pauses of the others. So they are all back as soon as one is, and meanwhile each asks seldom.
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
