/**
 * Writes how attempts ended, in batches: while one statement is under way the outcomes of others gather
 * and go with the next, so the batch grows with the load and a lone outcome never waits. What cannot be
 * written is kept and tried again; the fence makes a repetition harmless.
 */
import type { Logger } from '../runtime/logger.ts'
import { Loop } from '../runtime/loop.ts'
import type { Service } from '../runtime/service.ts'
import { type Database, isRefusedData } from '../store/database.ts'
import {
  type Ending,
  endPlainRuns,
  endRuns,
  isPlain,
  type PlainEnding,
  type Retry,
  retryRuns,
} from '../store/outcomes.ts'
import type { DueHint, WakeUps } from '../transport/wake-ups.ts'
import type { Verdict } from './verdict.ts'

const BATCH = 1_000
/** Statements that write plain ends at the same time. */
const ABREAST = 2
const IDLE_MS = 60_000
/**
 * Under a steady load outcomes are written no oftener than this, unless something waits for them: a statement
 * for three costs nearly as much as one for thirty. A lone outcome does not wait.
 */
const PACE_MS = 30
/** So many are worth a statement at any time. */
const PLENTY = 300
/** Code of an outcome whose output or error could not be stored. */
const UNSTORABLE = 'unstorable_outcome'

export interface OutcomeWriterOptions {
  readonly db: Database
  readonly wakeUps: WakeUps
  readonly log: Logger
}

export class OutcomeWriter implements Service {
  readonly #options: OutcomeWriterOptions
  readonly #loop: Loop
  /** Ends with nothing to say: they have a cheaper statement. */
  #plain: (Ending & PlainEnding)[] = []
  #endings: Ending[] = []
  #retries: Retry[] = []
  #waiting: (() => void)[] = []
  #isUrgent = false
  #begunAt = Number.NEGATIVE_INFINITY
  /** How many are written at once: fewer while one that is refused is looked for. */
  readonly #limits = { endings: BATCH, retries: BATCH }

  constructor(options: OutcomeWriterOptions) {
    this.#options = options
    this.#loop = new Loop({
      name: 'outcomes',
      everyMs: IDLE_MS,
      log: options.log,
      runOnce: () => this.#flush(),
    })
  }

  /** How many outcomes were found to be about runs that are somebody else's, since the start. */
  dropped = 0

  /** Outcomes that are not written yet. */
  get backlog(): number {
    return this.#plain.length + this.#endings.length + this.#retries.length
  }

  /** Whether the outcome of a run is still to be written. */
  knows(runId: string): boolean {
    const isIt = (outcome: { readonly runId: string }) => outcome.runId === runId
    return this.#plain.some(isIt) || this.#endings.some(isIt) || this.#retries.some(isIt)
  }

  /** Resolves when nothing is left to be written about these runs, whatever came of it. */
  async written(runIds: ReadonlySet<string>): Promise<void> {
    const isIt = (outcome: { readonly runId: string }) => runIds.has(outcome.runId)
    while (this.#plain.some(isIt) || this.#endings.some(isIt) || this.#retries.some(isIt)) {
      this.#isUrgent = true
      this.#loop.wake()
      await new Promise<void>((resolve) => this.#waiting.push(resolve))
    }
  }

  start(): void {
    this.#loop.start()
  }

  /** Resolves when everything handed over has been written. */
  async stop(): Promise<void> {
    while (this.backlog > 0) {
      this.#isUrgent = true
      this.#loop.wake()
      await new Promise<void>((resolve) => this.#waiting.push(resolve))
    }
    await this.#loop.stop()
  }

  add(verdict: Verdict): void {
    switch (verdict.kind) {
      case 'end':
        if (!verdict.isAwaited && isPlain(verdict.ending)) this.#plain.push(verdict.ending)
        else this.#endings.push(verdict.ending)
        this.#isUrgent ||= verdict.isAwaited
        break
      case 'retry':
        this.#retries.push(verdict.retry)
        this.#isUrgent = true
        break
      case 'nothing':
        return
    }
    this.#loop.wake()
  }

  async #flush(): Promise<number | undefined> {
    const early = this.#begunAt + PACE_MS - performance.now()
    if (early > 0 && !this.#isUrgent && this.backlog < PLENTY) return early
    if (this.backlog > 0) this.#begunAt = performance.now()
    this.#isUrgent = false
    const { wakeUps } = this.#options
    await this.#writePlain()
    const hints = [...(await this.#writeEndings()), ...(await this.#writeRetries())]
    if (hints.length > 0) wakeUps.announceDue(hints)
    for (const resolve of this.#waiting.splice(0)) resolve()
    return this.backlog > 0 ? 0 : undefined
  }

  /** Two statements at once when there is enough for both: one alone would leave the database half idle. */
  async #writePlain(): Promise<void> {
    const batches = evenly(this.#plain.slice(0, ABREAST * BATCH), BATCH)
    const results = await Promise.allSettled(batches.map((batch) => this.#endPlain(batch)))
    const unwritten = batches.filter((_, i) => results[i]?.status === 'rejected').flat()
    this.#plain.splice(0, batches.flat().length, ...unwritten)
    for (const result of results) if (result.status === 'fulfilled') this.#endings.push(...result.value)
    for (const result of results) if (result.status === 'rejected') throw result.reason
  }

  /** Answers what this statement cannot end, or the database refuses: it is left to the one that can tell why. */
  async #endPlain(batch: readonly (Ending & PlainEnding)[]): Promise<readonly Ending[]> {
    try {
      const [written] = await this.#options.db.run(endPlainRuns(batch))
      const left = new Set(written?.left)
      return left.size === 0 ? [] : batch.filter(({ runId }) => left.has(runId))
    } catch (error) {
      if (!isRefusedData(error)) throw error
      return batch
    }
  }

  async #writeEndings(): Promise<DueHint[]> {
    const batch = this.#endings.slice(0, this.#limits.endings)
    if (batch.length === 0) return []
    const result = await this.#options.db.run(endRuns(batch)).catch((error: unknown) => {
      this.#limits.endings = this.#isolate(this.#endings, batch, error)
    })
    if (!result) return []
    const [written] = result
    this.#limits.endings = Math.min(BATCH, this.#limits.endings * 2)
    this.#endings.splice(0, batch.length)
    this.#reportStale(batch.length - (written?.ended ?? 0))
    if (written?.hasFreedGates) this.#options.wakeUps.announceReady()
    return [...(written?.heirs ?? [])]
  }

  /**
   * An outcome that the database refuses must not hold up the others: batches are halved until it is alone, and then
   * it is written without what the attempt had to say. Whatever else went wrong is thrown. Answers how many of them to
   * write next.
   */
  #isolate<T extends Ending | Retry>(waiting: T[], batch: readonly T[], error: unknown): number {
    if (!isRefusedData(error)) throw error
    const [outcome] = batch
    if (batch.length > 1 || !outcome) return Math.max(1, Math.floor(batch.length / 2))
    const message = error instanceof Error ? error.message : String(error)
    this.#options.log.error({ run: outcome.runId, err: error }, 'an outcome could not be stored as it is')
    const isBare = (outcome.error as { code?: string } | null)?.code === UNSTORABLE
    if (isBare) waiting.shift()
    else waiting[0] = { ...outcome, output: null, error: { code: UNSTORABLE, message } }
    return 1
  }

  async #writeRetries(): Promise<DueHint[]> {
    const batch = this.#retries.slice(0, this.#limits.retries)
    if (batch.length === 0) return []
    const retried = await this.#options.db.run(retryRuns(batch)).catch((error: unknown) => {
      this.#limits.retries = this.#isolate(this.#retries, batch, error)
    })
    if (!retried) return []
    this.#limits.retries = Math.min(BATCH, this.#limits.retries * 2)
    const written = new Map(retried.map(({ runId, shard }) => [runId, shard]))
    this.#retries.splice(0, batch.length)
    if (retried[0]?.hasFreedGates) this.#options.wakeUps.announceReady()
    // What was not taken was cancelled meanwhile, and ends so, or is no longer ours, and then this does nothing.
    for (const retry of batch) if (!written.has(retry.runId)) this.#endings.push(cancelledInstead(retry))
    return batch.flatMap(({ runId, retryAt }) => {
      const shard = written.get(runId)
      return shard === undefined ? [] : [{ shard, at: retryAt }]
    })
  }

  #reportStale(count: number): void {
    this.dropped += count
    if (count > 0)
      this.#options.log.warn({ count }, 'outcomes of runs that are no longer held here were dropped')
  }
}

/** As few parts as can be of at most so many, none much smaller than the others. */
function evenly<T>(items: readonly T[], most: number): T[][] {
  const parts = Math.ceil(items.length / most)
  const size = Math.ceil(items.length / parts)
  return Array.from({ length: parts }, (_, i) => items.slice(i * size, (i + 1) * size))
}

function cancelledInstead({ retryAt: _, ...attempt }: Retry): Ending {
  return { ...attempt, state: 'cancelled', heirId: null }
}
