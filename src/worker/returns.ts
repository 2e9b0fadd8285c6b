/**
 * Runs in a worker's name that it will not perform after all: what it gave up while it was uncertain of its
 * leases, what has waited in it too long, what it was still holding when it stopped, and what it may have
 * been given without ever hearing of it. They are kept until the database has taken them back.
 */

import type { SideLane } from '../core/run/lane.ts'
import { lostEnding, mayBeginAgain } from '../outcomes/lost-attempt.ts'
import type { OutcomeWriter } from '../outcomes/outcome-writer.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Database } from '../store/database/database.ts'
import { SetAside } from '../store/database/set-aside.ts'
import { type HeldRun, handBackRuns, hasOlderSession, heldRuns, reclaimRuns } from '../store/nodes/nodes.ts'
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
  /** Side lanes were made that nobody knows of yet. */
  onNewLanes(): void
}

/** A run that goes to a side lane, or without one back to its own. */
export interface RunAside extends HeldRun {
  readonly sideLane: SideLane | null
}

export class Returns {
  readonly #options: ReturnsOptions
  readonly #sideLanes = new SideLaneRegistry()
  #putAside: RunAside[] = []
  #begun: (Work & { readonly startedAt: number })[] = []
  #unbegun: HeldRun[] = []
  readonly #doubt = new Doubt()
  /** Runs that PostgreSQL refuses to take back: they stay here and are tried again. */
  readonly #aside: SetAside<HeldRun>

  constructor(options: ReturnsOptions) {
    this.#options = options
    const { db, log } = options
    const subjectOf = ({ runId }: HeldRun) => ({ id: runId, runId })
    this.#aside = new SetAside({ operation: 'reclaim', db, log, subjectOf })
  }

  /** Takes runs whose attempt had begun: each has lost one. */
  addBegun(work: Work, startedAt: number): void {
    this.#begun.push({ ...work, startedAt })
  }

  /** Takes runs that were never begun: they go back as they came. */
  addUnbegun(runs: readonly HeldRun[]): void {
    this.#unbegun.push(...runs)
  }

  /** Takes a run that there is no room for. */
  addAside(run: RunAside): void {
    this.#putAside.push(run)
  }

  /** Whether runs that there is no room for are still in this worker's name. */
  get hasAside(): boolean {
    return this.#putAside.some((run) => !this.#aside.isResting(run))
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
    const isTried = (run: HeldRun) => !this.#aside.isResting(run)
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

  /** Nobody is told: a node that has room looks into side lanes by itself. */
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
    runs: readonly HeldRun[],
    write: (part: readonly HeldRun[]) => Promise<void>,
  ): Promise<void> {
    if (runs.length > 0) await this.#aside.each(runs, write)
  }

  /**
   * A claim whose answer was lost may have been committed. Such runs are in this worker's name and it does
   * not know them: they are looked for once their claims must have been answered or given up on, and handed back. That is
   * so after a while; and at once for what was claimed before the last doubt, when no session is left that could have
   * been asked for it, as after a restart of the database.
   */
  async resolveDoubt(isKnown: (runId: string) => boolean): Promise<void> {
    const { db, clock, log, nodeId, writer } = this.#options
    const settled = this.#doubt.lookBefore(clock.now())
    if (settled === undefined) return
    const { lastAt } = this.#doubt
    const claimedBefore = (await this.#hasOutlivedSessions(lastAt)) ? Math.max(settled, lastAt) : settled
    const beganAt = performance.now()
    const held = await db.run(heldRuns({ nodeId, claimedBefore }))
    const returning = new Set([...this.#unbegun, ...this.#begun, ...this.#putAside].map(({ runId }) => runId))
    const unknown = held.filter(
      ({ runId }) => !isKnown(runId) && !writer.knows(runId) && !returning.has(runId),
    )
    if (unknown.length > 0) {
      this.addUnbegun(unknown)
      await this.flush()
      log.warn({ count: unknown.length }, 'returned runs whose claim was not confirmed')
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

/** Some runs without those of a part. Others may have been added meanwhile. */
function without<T>(runs: readonly T[], part: readonly unknown[]): T[] {
  const gone = new Set(part)
  return runs.filter((run) => !gone.has(run))
}
