/**
 * Keeps this node's estimate of the database's clock accurate. It reads that clock twice a second, so that a step of the clock
 * is noticed within a second, and shortly before each instant that is waited for, so that nothing starts early while the clock
 * is being slewed. The number of readings depends on the time and not on the runs: however many are due, there are some 40 a
 * second.
 */
import { type DatabaseClock, READING_LASTS_MS, type Step } from '../runtime/clock.ts'
import { Loop } from '../runtime/loop.ts'
import type { Service } from '../runtime/service.ts'
import type { Database } from '../store/database/database.ts'
import { readClock } from '../store/nodes/nodes.ts'
import type { Logger } from '../telemetry/logger.ts'

export interface ClockSyncOptions {
  /** A separate connection: a reading that waits behind other statements would be less accurate. */
  readonly db: Database
  readonly clock: DatabaseClock
  readonly log: Logger
  /** Records a step of the clock for the other nodes. */
  record(step: Step): Promise<void>
}

/** Number of readings before the node starts: the quickest responses count. */
const READINGS_AT_START = 5
const EVERY_MS = 500
/** A reading begins this long, plus two round trips, before the instant it is for. */
const LEAD_MS = 6
const LONGEST_LEAD_MS = 200

export class ClockSync implements Service {
  readonly #options: ClockSyncOptions
  readonly #loop: Loop
  /** Instants up to here need no other reading. */
  #coveredUntil = Number.NEGATIVE_INFINITY
  /** The last instant that is waited for. */
  #awaitedUntil = Number.NEGATIVE_INFINITY
  #leadMs = LEAD_MS
  #timer: NodeJS.Timeout | undefined
  #timerAt = Number.POSITIVE_INFINITY
  readonly #unrecorded: Step[] = []

  constructor(options: ClockSyncOptions) {
    this.#options = options
    const { clock, log } = options
    this.#loop = new Loop({ name: 'clock', everyMs: EVERY_MS, log, runOnce: () => this.runOnce() })
    clock.onExpected((instant) => this.#expect(instant))
  }

  /** Fails only if every reading does: one that takes too long is useless, but the next may be quick. */
  async start(): Promise<void> {
    let failure: unknown
    for (let i = 0; i < READINGS_AT_START; i++)
      await this.runOnce().catch((error: unknown) => {
        failure = error
      })
    if (!this.#options.clock.isSet) throw failure
    this.#loop.start()
  }

  async stop(): Promise<void> {
    clearTimeout(this.#timer)
    await this.#loop.stop()
  }

  /** Takes one reading; tests call this instead of waiting for the timer. */
  async runOnce(): Promise<undefined> {
    const { db, clock, log } = this.#options
    const sentAt = performance.now()
    const [answer] = await db.run(readClock())
    const receivedAt = performance.now()
    if (!answer) return
    const step = clock.observe({ sentAt, receivedAt, at: answer.now })
    this.#leadMs = Math.min(LONGEST_LEAD_MS, LEAD_MS + 2 * (receivedAt - sentAt))
    this.#coveredUntil = clock.now() + READING_LASTS_MS
    if (this.#awaitedUntil > this.#coveredUntil) this.#expect(this.#coveredUntil + 1)
    if (step) {
      log.error({ byMs: Math.round(step.byMs) }, 'the database clock was set')
      this.#unrecorded.push(step)
    }
    await this.#record()
  }

  async #record(): Promise<void> {
    for (let step = this.#unrecorded[0]; step; step = this.#unrecorded[0]) {
      await this.#options.record(step)
      this.#unrecorded.shift()
    }
  }

  #expect(instant: number): void {
    if (instant <= this.#coveredUntil) return
    this.#awaitedUntil = Math.max(this.#awaitedUntil, instant)
    const inMs = Math.max(0, instant - this.#leadMs - this.#options.clock.now())
    const at = performance.now() + inMs
    if (this.#timerAt <= at) return
    clearTimeout(this.#timer)
    this.#timerAt = at
    this.#timer = setTimeout(() => {
      this.#timerAt = Number.POSITIVE_INFINITY
      this.#loop.wake()
    }, inMs)
  }
}
