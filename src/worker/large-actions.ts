/**
 * Reads the actions that are too large to wait with their runs, once these have a place to begin in. Only so many bytes of
 * them are in hand at once, however many places a worker has: the others wait until one has ended.
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

/** Performing one takes some times its length: it is parsed, made into the text of a request, and sent. */
export const MAX_BYTES_IN_HAND = 64 * 1024 * 1024
/** Read by one statement. */
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

  /** The action of an attempt; undefined when it could not be read, or was not waited for because the attempt is over. */
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

  /** An attempt has ended: what waits may have its place. */
  release({ runId }: Work): void {
    this.#waiting = this.#waiting.filter(({ work }) => work.runId !== runId)
    this.#bytesInHand -= this.#inHand.get(runId) ?? 0
    this.#inHand.delete(runId)
    void this.#readOn()
  }

  /** One statement after another, as long as something waits that there is room for. */
  async #readOn(): Promise<void> {
    if (this.#isReading) return
    this.#isReading = true
    for (let next = this.#next(); next.length > 0; next = this.#next()) await this.#readSome(next)
    this.#isReading = false
  }

  /** The first that wait and fit; when nothing is in hand the first fits in any case. */
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
