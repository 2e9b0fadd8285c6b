/**
 * Outcomes of remote attempts that are being written. They are written in batches with those of other requests, and the request
 * that reported them waits until they are stored, but only for a limited time: a worker repeats a report that got no response.
 */
import { Refusal } from '../core/errors.ts'
import type { Judgement } from '../outcomes/judgement.ts'
import { OutcomeWriter, type OutcomeWriterOptions } from '../outcomes/outcome-writer.ts'
import type { Service } from '../runtime/service.ts'

/** Maximum time that a request waits for the database. */
const LONGEST_WRITE_MS = 10_000

export class AwaitedOutcomes implements Service {
  readonly #writer: OutcomeWriter
  /** Runs whose outcome is being written: a report that is repeated meanwhile does not add a second one. */
  readonly #beingWritten = new Set<string>()

  constructor(options: OutcomeWriterOptions) {
    this.#writer = new OutcomeWriter(options)
  }

  start(): void {
    this.#writer.start()
  }

  stop(): Promise<void> {
    return this.#writer.stop()
  }

  get isFull(): boolean {
    return this.#writer.isFull
  }

  /** Number of outcomes dropped so far because the run was no longer leased with that fence. */
  get dropped(): number {
    return this.#writer.dropped
  }

  add(runId: string, judgement: Judgement): void {
    this.#beingWritten.add(runId)
    this.#writer.add(judgement)
  }

  /** Whether an outcome of the run is being written, or kept for another try. */
  has(runId: string): boolean {
    return this.#beingWritten.has(runId) || this.keeps(runId)
  }

  /** Whether the database refused an outcome of the run, which is kept for another try. */
  keeps(runId: string): boolean {
    return this.#writer.keeps(runId)
  }

  /** Resolves when no outcome of these runs is being written any more. Rejects the request if that takes too long. */
  async untilStored(runIds: readonly string[]): Promise<void> {
    const stored = this.#writer.written(new Set(runIds)).then(() => {
      for (const runId of runIds) this.#beingWritten.delete(runId)
    })
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<'late'>((resolve) => {
      timer = setTimeout(() => resolve('late'), LONGEST_WRITE_MS)
    })
    const ended = await Promise.race([stored, late])
    clearTimeout(timer)
    if (ended === 'late') throw busy()
  }
}

export const busy = () =>
  new Refusal(
    'unavailable',
    'The reports could not be stored in time. Send them again; a report never counts twice.',
  )
