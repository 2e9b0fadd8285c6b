/**
 * Reads actions that are too large to be kept with their waiting runs, once these runs have a slot. The total size of the
 * actions in hand is bounded however many slots a worker has; further ones wait until an attempt ends.
 */
import { type Action, isLarge } from '../core/action/action.ts'
import { countWithin } from '../store/database/by-bytes.ts'
import type { Logger } from '../telemetry/logger.ts'
import type { Definitions } from '../transport/definitions.ts'
import type { Work } from '../transport/transport.ts'
import type { Attempt } from './attempt.ts'

export interface LargeActionsOptions {
  readonly definitions: Definitions
  readonly log: Logger
}

/** Performing an action takes several times its length in memory: it is parsed, encoded as a request, and sent. */
export const MAX_BYTES_IN_HAND = 64 * 1024 * 1024
/** Maximum number of bytes read by one statement. */
const MAX_BYTES_READ = 8 * 1024 * 1024

/** A run that waits for its action. */
interface Waiting {
  readonly work: Work
  readonly bytes: number
  settle(action: Action | undefined): void
}

export class LargeActions {
  readonly #options: LargeActionsOptions
  #waiting: Waiting[] = []
  readonly #inHand = new Map<string, number>()
  #bytesInHand = 0
  #isReading = false

  constructor(options: LargeActionsOptions) {
    this.#options = options
  }

  /** Returns the action of an attempt; undefined if it could not be read, or if the attempt ended first. */
  async read(attempt: Attempt): Promise<Action | undefined> {
    const { work } = attempt
    const { action } = work.definition
    if (!isLarge(action)) return action
    const read = new Promise<Action | undefined>((settle) => {
      this.#waiting.push({ work, bytes: action.largeBytes, settle })
    })
    void this.#readOn()
    return Promise.race([read, attempt.over])
  }

  /** Releases the bytes of an attempt that has ended, so that waiting ones can be read. */
  release({ runId }: Work): void {
    this.#waiting = this.#waiting.filter(({ work }) => work.runId !== runId)
    this.#bytesInHand -= this.#inHand.get(runId) ?? 0
    this.#inHand.delete(runId)
    void this.#readOn()
  }

  /** Runs one statement after another while an action waits that there is room for. */
  async #readOn(): Promise<void> {
    if (this.#isReading) return
    this.#isReading = true
    for (let next = this.#next(); next.length > 0; next = this.#next()) await this.#readSome(next)
    this.#isReading = false
  }

  /** Returns the first waiting actions that fit; if none is in hand, the first fits in any case. */
  #next(): Waiting[] {
    const [first] = this.#waiting
    const room = MAX_BYTES_IN_HAND - this.#bytesInHand
    if (!first || (first.bytes > room && this.#inHand.size > 0)) return []
    const next = this.#waiting.splice(
      0,
      countWithin(this.#waiting, Math.min(room, MAX_BYTES_READ), ({ bytes }) => bytes),
    )
    for (const { work, bytes } of next) {
      this.#inHand.set(work.runId, bytes)
      this.#bytesInHand += bytes
    }
    return next
  }

  async #readSome(some: readonly Waiting[]): Promise<void> {
    try {
      const definitions = await this.#options.definitions.whole(some.map(({ work }) => work))
      for (const [i, { settle }] of some.entries()) settle(definitions[i]?.action)
    } catch (error) {
      this.#options.log.warn({ err: error, count: some.length }, 'cannot read the actions of runs')
      for (const { settle } of some) settle(undefined)
    }
  }
}
