/**
 * Runs in a worker's name that it will not perform after all: what it gave up while it was uncertain of its
 * leases, what has waited in it too long, what it was still holding when it stopped, and what it may have
 * been given without ever hearing of it. They are kept until the database has taken them back.
 */
import type { Clock } from '../runtime/clock.ts'
import type { Logger } from '../runtime/logger.ts'
import type { Database } from '../store/database.ts'
import { type HeldRun, handBackRuns, hasOlderSession, heldRuns, reclaimRuns } from '../store/nodes.ts'
import type { Work } from '../transport/transport.ts'
import type { WakeUps } from '../transport/wake-ups.ts'
import { Doubt } from './doubt.ts'
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

export class Returns {
  readonly #options: ReturnsOptions
  readonly #begun: (Work & { readonly startedAt: number })[] = []
  readonly #unbegun: HeldRun[] = []
  readonly #doubt = new Doubt()

  constructor(options: ReturnsOptions) {
    this.#options = options
  }

  /** Takes runs whose attempt had begun: each has lost one. */
  addBegun(work: Work, startedAt: number): void {
    this.#begun.push({ ...work, startedAt })
  }

  /** Takes runs that were never begun: they go back as they came. */
  addUnbegun(runs: readonly HeldRun[]): void {
    this.#unbegun.push(...runs)
  }

  /** A claim went unanswered. */
  doubt(): void {
    this.#doubt.raise(this.#options.clock.now())
  }

  /** When runs that nobody heard of have to be looked for, if there may be any. */
  get lookInMs(): number | undefined {
    return this.#doubt.dueInMs(this.#options.clock.now())
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
        writer.add({
          kind: 'end',
          ending: lostEnding(work, { startedAt: work.startedAt, now: clock.now() }),
          isAwaited: true,
        })
    if (unbegun.length + again.length > 0) wakeUps.announceReady()
  }

  /**
   * A claim whose answer was lost may have been committed. Such runs are in this worker's name and it does
   * not know them: they are looked for once their claims must have been answered or given up on, and handed back. That is
   * so after a while; and at once for what was claimed before the last doubt, when no session is left that could have
   * been asked for it, as after a restart of the database.
   */
  async resolveDoubt(isKnown: (runId: string) => boolean): Promise<void> {
    const { db, clock, log, nodeId, writer, wakeUps } = this.#options
    const settled = this.#doubt.lookBefore(clock.now())
    if (settled === undefined) return
    const { lastAt } = this.#doubt
    const claimedBefore = (await this.#hasOutlivedSessions(lastAt)) ? Math.max(settled, lastAt) : settled
    const beganAt = performance.now()
    const held = await db.run(heldRuns({ nodeId, claimedBefore }))
    const unknown = held.filter(({ runId }) => !isKnown(runId) && !writer.knows(runId))
    if (unknown.length > 0) {
      await db.run(handBackRuns(unknown))
      wakeUps.announceReady()
      log.warn({ count: unknown.length }, 'handed back runs whose claim was never answered')
    }
    this.#doubt.settleBefore(settled, performance.now() - beganAt)
  }

  /** Whether every session of this node has ended that was there at an instant. */
  async #hasOutlivedSessions(at: number): Promise<boolean> {
    const { sessionName } = this.#options.db
    if (sessionName === null) return false
    const [older] = await this.#options.db.run(hasOlderSession(sessionName, at))
    return older?.exists === false
  }
}
