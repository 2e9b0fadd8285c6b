/**
 * Writes the outcomes of attempts in batches: while one statement is running, further outcomes gather for the next, so the
 * batch grows with the load and a single outcome never waits. An outcome that cannot be written is kept and retried, never
 * dropped; the fence makes repetitions harmless.
 */
import type { Assurance, HoldingClock, Step } from '../runtime/clock.ts'
import { Loop } from '../runtime/loop.ts'
import type { Service } from '../runtime/service.ts'
import {
  type Ending,
  endPlainRuns,
  endRuns,
  isPlain,
  outcomeText,
  type PlainEnding,
} from '../store/agenda/outcomes.ts'
import { type Retry, retryRuns } from '../store/agenda/retries.ts'
import { countWithin } from '../store/database/by-bytes.ts'
import { type Database, isMissingPartition, isRefused } from '../store/database/database.ts'
import { SetAside } from '../store/database/set-aside.ts'
import type { Logger } from '../telemetry/logger.ts'
import type { DueHint, WakeUps } from '../transport/wake-ups.ts'
import type { Judgement } from './judgement.ts'
import { KeptOutcomes, withoutOutput } from './kept-outcomes.ts'

const BATCH = 1_000
/**
 * Characters of outputs and errors that one statement writes: most outcomes have none or a few hundred, and a few have a
 * hundred thousand.
 */
const MAX_CHARACTERS = 4 * 1024 * 1024
/** If more than this waits to be written, in number or length, no new run should be taken on. */
const MAX_BACKLOG = 10_000
const MAX_BACKLOG_CHARACTERS = 64 * 1024 * 1024
/** Number of statements that write plain ends concurrently. */
const ABREAST = 2
const IDLE_MS = 60_000
/**
 * Under a steady load outcomes are written at most this often, unless something waits for them: a statement for three costs
 * nearly as much as one for thirty. A single outcome does not wait.
 */
const PACE_MS = 100
/** This many are worth a statement at any time. */
const PLENTY = 300

export interface OutcomeWriterOptions {
  readonly db: Database
  readonly wakeUps: WakeUps
  readonly clock: HoldingClock
  readonly log: Logger
}

export class OutcomeWriter implements Service {
  readonly #options: OutcomeWriterOptions
  readonly #loop: Loop
  readonly #aside: SetAside<Ending | Retry>
  /** Ends without output or error, for which there is a cheaper statement. */
  #plain: (Ending & PlainEnding)[] = []
  #endings: Ending[] = []
  #retries: Retry[] = []
  /** Outcomes that the database refuses even without their output. */
  readonly #kept: KeptOutcomes
  #waiting: (() => void)[] = []
  /** Total length of the outcomes that are not written yet. */
  #characters = 0
  #isUrgent = false
  #begunAt = Number.NEGATIVE_INFINITY
  /** Whether the next statement is scheduled, so that a new outcome need not wake the loop. */
  #isPaced = false

  constructor(options: OutcomeWriterOptions) {
    this.#options = options
    const { db, log } = options
    this.#aside = new SetAside({
      ...{ operation: 'record', db, log },
      subjectOf: ({ runId }) => ({ id: runId, runId }),
      datedAt: ({ endedAt }) => endedAt,
    })
    this.#kept = new KeptOutcomes((outcome) => this.#aside.restMs(outcome))
    this.#loop = new Loop({ name: 'outcomes', everyMs: IDLE_MS, log, runOnce: () => this.#flush() })
    options.clock.onStep((step) => this.#correct(step))
  }

  /** Number of outcomes discarded since the start because another node leases the run. */
  dropped = 0

  /** Number of outcomes not written yet. */
  get backlog(): number {
    return this.#unwritten + this.#kept.size
  }

  /** Number of those that were not refused. */
  get #unwritten(): number {
    return this.#plain.length + this.#endings.length + this.#retries.length
  }

  /** Whether too much waits to be written, so that no new run should be taken on. */
  get isFull(): boolean {
    return this.backlog > MAX_BACKLOG || this.#characters > MAX_BACKLOG_CHARACTERS
  }

  /** Whether the outcome of a run is still to be written. */
  knows(runId: string): boolean {
    return this.keeps(runId) || this.#isUnwritten(new Set([runId]))
  }

  /** Whether the outcome of a run was refused and is retried periodically. */
  keeps(runId: string): boolean {
    return this.#kept.has(runId)
  }

  /** Resolves when every outcome of these runs has been written, discarded as stale, or refused. */
  async written(runIds: ReadonlySet<string>): Promise<void> {
    while (this.#isUnwritten(runIds)) await this.#flushed()
  }

  #isUnwritten(runIds: ReadonlySet<string>): boolean {
    const isIt = (outcome: { readonly runId: string }) => runIds.has(outcome.runId)
    return this.#plain.some(isIt) || this.#endings.some(isIt) || this.#retries.some(isIt)
  }

  start(): void {
    this.#loop.start()
  }

  /**
   * Resolves when all added outcomes have been written. A refused one is tried once more; then its run is left to be reclaimed
   * as from a dead node.
   */
  async stop(): Promise<void> {
    this.#takeUpKept({ isAll: true })
    while (this.#unwritten > 0) await this.#flushed()
    await this.#loop.stop()
    if (this.#kept.size > 0)
      this.#options.log.error(
        { runs: this.#kept.runIds },
        'outcomes could not be stored; their runs are reclaimed from this node',
      )
  }

  #flushed(): Promise<void> {
    this.#isUrgent = true
    this.#loop.wake()
    return new Promise((resolve) => this.#waiting.push(resolve))
  }

  add(judgement: Judgement): void {
    switch (judgement.kind) {
      case 'end': {
        const ending = asText(judgement.ending)
        if (!judgement.isAwaited && isPlain(ending)) this.#plain.push(ending)
        else this.#endings.push(ending)
        this.#characters += lengthOf(ending)
        this.#isUrgent ||= judgement.isAwaited
        break
      }
      case 'retry': {
        const retry = asText(judgement.retry)
        this.#retries.push(retry)
        this.#characters += lengthOf(retry)
        this.#isUrgent = true
        break
      }
      case 'nothing':
        return
    }
    if (!this.#isPaced || this.#isUrgent || this.#unwritten >= PLENTY) this.#loop.wake()
  }

  get #assurance(): Assurance {
    return this.#options.clock.assurance()
  }

  /** Corrects outcomes not written yet, which may have happened after the database's clock was set. */
  #correct(step: Step): void {
    for (const outcomes of [this.#plain, this.#endings, this.#retries])
      for (const outcome of outcomes) correct(outcome, step)
  }

  async #flush(): Promise<number | undefined> {
    this.#takeUpKept({ isAll: false })
    const early = this.#begunAt + PACE_MS - performance.now()
    this.#isPaced = early > 0 && !this.#isUrgent && this.#unwritten < PLENTY
    if (this.#isPaced) return Math.ceil(early)
    if (this.#unwritten > 0) this.#begunAt = performance.now()
    this.#isUrgent = false
    const { wakeUps } = this.#options
    await this.#writePlain()
    const hints = [...(await this.#writeEndings()), ...(await this.#writeRetries())]
    this.#characters = [this.#plain, this.#endings, this.#retries]
      .flat()
      .reduce((sum, one) => sum + lengthOf(one), 0)
    if (hints.length > 0) wakeUps.announceDue(hints)
    for (const resolve of this.#waiting.splice(0)) resolve()
    return this.#unwritten > 0 ? 0 : this.#kept.nextInMs
  }

  /** Retries refused outcomes whose rest is over. */
  #takeUpKept({ isAll }: { isAll: boolean }): void {
    if (this.#kept.size === 0) return
    const { endings, retries } = this.#kept.take(isAll)
    this.#endings.push(...endings)
    this.#retries.push(...retries)
    if (endings.length + retries.length > 0) this.#isUrgent = true
  }

  /** Writes plain ends, with two statements at once if there are enough for both: one alone would leave the database half idle. */
  async #writePlain(): Promise<void> {
    const batches = evenly(firstOf(this.#plain, ABREAST * BATCH, ABREAST * MAX_CHARACTERS), BATCH)
    const results = await Promise.allSettled(batches.map((batch) => this.#endPlain(batch)))
    const unwritten = batches.filter((_, i) => results[i]?.status === 'rejected').flat()
    this.#plain.splice(0, batches.flat().length, ...unwritten)
    for (const result of results) if (result.status === 'fulfilled') this.#endings.push(...result.value)
    for (const result of results) if (result.status === 'rejected') throw result.reason
  }

  /**
   * Returns the ends that this statement cannot write or the database refuses: the general statement handles them and reports
   * why.
   */
  async #endPlain(batch: readonly (Ending & PlainEnding)[]): Promise<readonly Ending[]> {
    try {
      const [written] = await this.#options.db.run(endPlainRuns(batch, this.#assurance))
      const left = new Set(written?.left)
      return left.size === 0 ? [] : batch.filter(({ runId }) => left.has(runId))
    } catch (error) {
      if (!isRefused(error)) throw error
      return batch
    }
  }

  async #writeEndings(): Promise<DueHint[]> {
    const batch = firstOf(this.#endings, BATCH)
    if (batch.length === 0) return []
    const hints: DueHint[] = []
    const refused = await this.#aside.each(batch, async (part) => {
      await this.#asMuchAsCan(part as Ending[], async (endings) => {
        hints.push(...(await this.#end(endings)))
      })
      this.#endings = without(this.#endings, part)
    })
    this.#endings = without(this.#endings, refused)
    this.#kept.addEndings(refused as Ending[])
    return hints
  }

  async #end(endings: readonly Ending[]): Promise<readonly DueHint[]> {
    const [written] = await this.#options.db.run(endRuns(endings, this.#assurance))
    this.#reportStale(endings.length - (written?.ended ?? 0))
    if (written?.hasFreedGates) this.#options.wakeUps.announceReady()
    return written?.following ?? []
  }

  async #writeRetries(): Promise<DueHint[]> {
    const batch = firstOf(this.#retries, BATCH)
    if (batch.length === 0) return []
    const hints: DueHint[] = []
    const refused = await this.#aside.each(batch, async (part) => {
      await this.#asMuchAsCan(part as Retry[], async (retries) => {
        hints.push(...(await this.#retry(retries)))
      })
      this.#retries = without(this.#retries, part)
    })
    this.#retries = without(this.#retries, refused)
    this.#kept.addRetries(refused as Retry[])
    return hints
  }

  async #retry(retries: readonly Retry[]): Promise<DueHint[]> {
    const retried = await this.#options.db.run(retryRuns(retries, this.#assurance))
    const written = new Map(retried.map(({ runId, shard }) => [runId, shard]))
    if (retried[0]?.hasFreedGates) this.#options.wakeUps.announceReady()
    // A run that was not retried was cancelled meanwhile, and ends as cancelled, or is no longer leased here, and then this
    // does nothing.
    for (const retry of retries) if (!written.has(retry.runId)) this.#endings.push(cancelledInstead(retry))
    return retries.flatMap(({ runId, retryAt }) => {
      const shard = written.get(runId)
      return shard === undefined ? [] : [{ shard, at: retryAt }]
    })
  }

  /**
   * Writes outcomes; a single outcome that is refused is written without its output, because how the attempt ended matters
   * more.
   */
  async #asMuchAsCan<T extends Ending | Retry>(
    part: readonly T[],
    write: (part: readonly T[]) => Promise<void>,
  ): Promise<void> {
    try {
      await write(part)
    } catch (error) {
      const [outcome] = part
      if (part.length > 1 || !outcome || !isRefused(error) || isMissingPartition(error)) throw error
      this.#options.log.error({ run: outcome.runId, err: error }, 'an outcome could not be stored in full')
      await write([withoutOutput(outcome, error)])
    }
  }

  #reportStale(count: number): void {
    this.dropped += count
    if (count > 0)
      this.#options.log.warn({ count }, 'outcomes of runs that this node no longer leases were discarded')
  }
}

type Outcome = Pick<Ending, 'output' | 'error'>

/** Returns the outcome with its output and error as text; most have neither. A value that cannot be serialised is left out. */
function asText<T extends Ending | Retry>(outcome: T): T {
  const { output, error } = outcome
  if (output === null && error === null) return outcome
  try {
    return { ...outcome, output: outcomeText(output), error: outcomeText(error) }
  } catch (failure) {
    return withoutOutput(outcome, failure)
  }
}

const lengthOf = ({ output, error }: Outcome): number =>
  (outcomeText(output)?.json.length ?? 0) + (outcomeText(error)?.json.length ?? 0)

/** Returns the first outcomes, up to a number and a total length. */
function firstOf<T extends Outcome>(outcomes: readonly T[], most: number, characters = MAX_CHARACTERS): T[] {
  const first = outcomes.slice(0, most)
  return first.slice(0, countWithin(first, characters, lengthOf))
}

/** Splits items into as few parts as possible of at most `most` items, of about equal size. */
function evenly<T>(items: readonly T[], most: number): T[][] {
  const parts = Math.ceil(items.length / most)
  const size = Math.ceil(items.length / parts)
  return Array.from({ length: parts }, (_, i) => items.slice(i * size, (i + 1) * size))
}

/** Returns the items without those of a part, which usually are the first ones. */
function without<T>(items: T[], part: readonly unknown[]): T[] {
  if (part.length === 0) return items
  if (items[0] === part[0] && items[part.length - 1] === part.at(-1)) return items.slice(part.length)
  const gone = new Set(part)
  return items.filter((item) => !gone.has(item))
}

/**
 * Corrects the instants of an outcome after the database's clock was set. It changes the object itself, which may be part of a
 * running statement.
 */
function correct(outcome: Ending | Retry, { byMs, assuredUntil }: Step): void {
  const shift = (at: number) => (at > assuredUntil ? at + byMs : at)
  const startedAt = outcome.startedAt === null ? null : shift(outcome.startedAt)
  const endedAt = Math.max(startedAt ?? Number.NEGATIVE_INFINITY, shift(outcome.endedAt))
  const retry = 'retryAt' in outcome ? { retryAt: shift(outcome.retryAt) } : {}
  Object.assign(outcome, { startedAt, endedAt, ...retry })
}

function cancelledInstead({ retryAt: _, ...attempt }: Retry): Ending {
  return { ...attempt, state: 'cancelled', nextRunId: null }
}
