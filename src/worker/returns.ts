/**
 * Returns runs that are leased to this worker but that it will not perform: those it gave up while it was uncertain of its
 * leases, those that have waited in it too long, those it still had when it stopped, and those it may have been given without
 * receiving the reply. They are kept until the database has taken them back.
 */

import type { SideLane } from '../core/run/lane.ts'
import { lostEnding, mayBeginAgain } from '../outcomes/lost-attempt.ts'
import type { OutcomeWriter } from '../outcomes/outcome-writer.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Database } from '../store/database/database.ts'
import { SetAside } from '../store/database/set-aside.ts'
import {
  handBackRuns,
  hasOlderSession,
  type LeasedRun,
  leasedRuns,
  reclaimRuns,
} from '../store/nodes/leased-runs.ts'
import type { Logger } from '../telemetry/logger.ts'
import { SideLaneRegistry } from '../transport/lane-registry.ts'
import type { Work } from '../transport/transport.ts'
import type { WakeUps } from '../transport/wake-ups.ts'
import { Doubt } from './doubt.ts'

export interface ReturnsOptions {
  readonly nodeId: string
  readonly db: Database
  readonly wakeUps: WakeUps
  readonly clock: Clock
  readonly log: Logger
  readonly writer: OutcomeWriter
  /** Called when side lanes were created that the served lanes do not include yet. */
  onNewLanes(): void
}

/** A run that is moved to a side lane, or back to its own lane if `sideLane` is null. */
export interface RunAside extends LeasedRun {
  readonly sideLane: SideLane | null
}

export class Returns {
  readonly #options: ReturnsOptions
  readonly #sideLanes = new SideLaneRegistry()
  #putAside: RunAside[] = []
  #begun: (Work & { readonly startedAt: number })[] = []
  #unbegun: LeasedRun[] = []
  readonly #doubt = new Doubt()
  /** Runs that PostgreSQL refuses to take back: they stay here and are tried again. */
  readonly #aside: SetAside<LeasedRun>

  constructor(options: ReturnsOptions) {
    this.#options = options
    const { db, log } = options
    const subjectOf = ({ runId }: LeasedRun) => ({ id: runId, runId })
    this.#aside = new SetAside({ operation: 'reclaim', db, log, subjectOf })
  }

  /** Adds a run whose attempt had begun, which counts as a loss. */
  addBegun(work: Work, startedAt: number): void {
    this.#begun.push({ ...work, startedAt })
  }

  /** Adds runs that were never begun: they return unchanged. */
  addUnbegun(runs: readonly LeasedRun[]): void {
    this.#unbegun.push(...runs)
  }

  /** Adds a run for which there is no room. */
  addAside(run: RunAside): void {
    this.#putAside.push(run)
  }

  /** Whether runs without room are still leased to this worker. */
  get hasAside(): boolean {
    return this.#putAside.some((run) => !this.#aside.isResting(run))
  }

  /** Records that a claim got no reply. */
  doubt(): void {
    this.#doubt.raise(this.#options.clock.now())
  }

  /** When unknown runs must be looked for; undefined if there can be none. */
  get lookInMs(): number | undefined {
    return this.#doubt.dueInMs(this.#options.clock.now())
  }

  /** Returns all runs; those that may not be attempted again are ended instead. */
  async flush(): Promise<void> {
    const { db, clock, writer, wakeUps } = this.#options
    const isTried = (run: LeasedRun) => !this.#aside.isResting(run)
    await this.#flushAside(this.#putAside.filter(isTried))
    const unbegun = this.#unbegun.filter(isTried)
    await this.#giveBack(unbegun, async (part) => {
      await db.run(handBackRuns(part))
      this.#unbegun = without(this.#unbegun, part)
    })
    const again = this.#begun.filter((work) => mayBeginAgain(work) && isTried(work))
    await this.#giveBack(again, async (part) => {
      await db.run(reclaimRuns(part))
      this.#begun = without(this.#begun, part)
    })
    const over = this.#begun.filter((work) => !mayBeginAgain(work))
    this.#begun = without(this.#begun, over)
    for (const work of over)
      writer.add({
        kind: 'end',
        ending: lostEnding(work, { startedAt: work.startedAt, now: clock.now() }),
        isAwaited: true,
      })
    if (unbegun.length + again.length > 0) wakeUps.announceReady()
  }

  /** Returns runs without room. No wake-up is sent: a node that has room examines side lanes by itself. */
  async #flushAside(runs: readonly RunAside[]): Promise<void> {
    if (runs.length === 0) return
    const lanes = runs.flatMap(({ sideLane }) => sideLane ?? [])
    const known = await this.#sideLanes.ensure(this.#options.db, lanes, this.#options.onNewLanes)
    const sideOf = ({ sideLane }: RunAside) => (sideLane && known.has(sideLane.id) ? sideLane.id : null)
    await this.#giveBack(runs, async (part) => {
      const some = part as readonly RunAside[]
      await this.#options.db.run(handBackRuns(some.map((run) => ({ ...run, side: sideOf(run) }))))
      this.#putAside = without(this.#putAside, part)
    })
  }

  async #giveBack(
    runs: readonly LeasedRun[],
    write: (part: readonly LeasedRun[]) => Promise<void>,
  ): Promise<void> {
    if (runs.length > 0) await this.#aside.each(runs, write)
  }

  /**
   * Looks for runs whose claim was committed although its reply was lost: they are leased to this worker, which does not know
   * them, and are handed back. Claims are considered once they must have been answered or given up: after a fixed time, or, for
   * claims before the last doubt, at once if no session is left that could be carrying one out, as after a restart of the
   * database.
   */
  async resolveDoubt(isKnown: (runId: string) => boolean): Promise<void> {
    const { db, clock, log, nodeId, writer } = this.#options
    const settled = this.#doubt.lookBefore(clock.now())
    if (settled === undefined) return
    const { lastAt } = this.#doubt
    const claimedBefore = (await this.#hasOutlivedSessions(lastAt)) ? Math.max(settled, lastAt) : settled
    const beganAt = performance.now()
    const leased = await db.run(leasedRuns({ nodeId, claimedBefore }))
    const returning = new Set([...this.#unbegun, ...this.#begun, ...this.#putAside].map(({ runId }) => runId))
    const unknown = leased.filter(
      ({ runId }) => !isKnown(runId) && !writer.knows(runId) && !returning.has(runId),
    )
    if (unknown.length > 0) {
      this.addUnbegun(unknown)
      await this.flush()
      log.warn({ count: unknown.length }, 'returned runs whose claim was not confirmed')
    }
    this.#doubt.settleBefore(settled, performance.now() - beganAt)
  }

  /** Whether every session of this node that existed at that instant has ended. */
  async #hasOutlivedSessions(at: number): Promise<boolean> {
    const { sessionName } = this.#options.db
    if (sessionName === null) return false
    const [older] = await this.#options.db.run(hasOlderSession(sessionName, at))
    return older?.exists === false
  }
}

/** Returns the runs without those of `part`. Others may have been added meanwhile. */
function without<T>(runs: readonly T[], part: readonly unknown[]): T[] {
  const gone = new Set(part)
  return runs.filter((run) => !gone.has(run))
}
