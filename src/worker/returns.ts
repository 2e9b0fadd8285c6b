/**
 * Runs in a worker's name that it will not perform after all: what it gave up while it was uncertain of its
 * leases, what has waited in it too long, what it was still holding when it stopped, and what it may have
 * been given without ever hearing of it. They are kept until the database has taken them back.
 */
import type { Clock } from '../runtime/clock.ts'
import type { Logger } from '../runtime/logger.ts'
import type { Database } from '../store/database.ts'
import { type HeldRun, handBackRuns, heldRuns, reclaimRuns } from '../store/nodes.ts'
import type { Work } from '../transport/transport.ts'
import type { WakeUps } from '../transport/wake-ups.ts'
import { lostEnding, mayBeginAgain } from './lost-attempt.ts'
import type { OutcomeWriter } from './outcome-writer.ts'

export interface ReturnsOptions {
  readonly nodeId: string
  readonly db: Database
  readonly wakeUps: WakeUps
  readonly clock: Clock
  readonly log: Logger
  readonly writer: OutcomeWriter
}

/** By then every claim that was made up to `LATE_CLAIM_MS` after a doubt has been answered or given up on. */
const DOUBT_MS = 25_000
/** A claim that was given up on may still be carried out for so long. */
const LATE_CLAIM_MS = 11_000

export class Returns {
  readonly #options: ReturnsOptions
  readonly #begun: Work[] = []
  readonly #unbegun: HeldRun[] = []
  /** When runs were last, perhaps, claimed in this worker's name without its knowing. */
  #doubtAt: number | undefined

  constructor(options: ReturnsOptions) {
    this.#options = options
  }

  /** Takes runs whose attempt had begun: each has lost one. */
  addBegun(work: Work): void {
    this.#begun.push(work)
  }

  /** Takes runs that were never begun: they go back as they came. */
  addUnbegun(runs: readonly HeldRun[]): void {
    this.#unbegun.push(...runs)
  }

  /** A claim went unanswered. */
  doubt(): void {
    this.#doubtAt = this.#options.clock.now()
  }

  /** Gives back what there is; what may not be tried again ends instead. */
  async flush(): Promise<void> {
    const { db, clock, writer, wakeUps } = this.#options
    const unbegun = [...this.#unbegun]
    if (unbegun.length > 0) await db.run(handBackRuns(unbegun))
    this.#unbegun.splice(0, unbegun.length)
    const begun = [...this.#begun]
    const again = begun.filter(mayBeginAgain)
    if (again.length > 0) await db.run(reclaimRuns(again))
    this.#begun.splice(0, begun.length)
    for (const work of begun)
      if (!mayBeginAgain(work))
        writer.add({ kind: 'end', ending: lostEnding(work, clock.now()), isAwaited: true })
    if (unbegun.length + again.length > 0) wakeUps.announceReady()
  }

  /**
   * A claim whose answer was lost may have been committed. Such runs are in this worker's name and it does
   * not know them: they are looked for once everything that was under way must have ended, and handed back.
   */
  async resolveDoubt(isKnown: (runId: string) => boolean): Promise<void> {
    const { db, clock, log, nodeId, writer } = this.#options
    const doubtAt = this.#doubtAt
    if (doubtAt === undefined || clock.now() - doubtAt < DOUBT_MS) return
    const held = await db.run(heldRuns({ nodeId, claimedBefore: doubtAt + LATE_CLAIM_MS }))
    const unknown = held.filter(({ runId }) => !isKnown(runId) && !writer.knows(runId))
    if (unknown.length > 0) await db.run(handBackRuns(unknown))
    if (this.#doubtAt === doubtAt) this.#doubtAt = undefined
    if (unknown.length > 0)
      log.warn({ count: unknown.length }, 'handed back runs whose claim was never answered')
  }
}
