import type { Standing } from '../core/run/claim.ts'
import type { Database } from '../store/database/database.ts'
import { limitedGates } from '../store/queues/gates.ts'
import { countRunningOfProjects } from '../store/queues/project-gates.ts'
import { countRunning } from '../store/queues/queue-limits.ts'
import { servedLanes } from '../store/queues/queues.ts'
import { type Offer, waitingLanes } from '../store/queues/waiting-lanes.ts'
import { type Line, LOCAL, PROGRAMS } from '../transport/local-worker.ts'

/** A new lane, or a change to a queue whose announcement was lost, is noticed within this time. */
export const STALE_MS = 250
/** After this time, everything that was being claimed or fired when a limit was noticed is in this worker's hands. */
const LATE_START_MS = 15_000

export interface ServedLanesOptions {
  readonly workerId: string
  readonly db: Database
  /** The worker's current labels; null if it may not perform anything. */
  labels(): readonly string[] | null
}

/** Lanes in which runs wait for their own slot. */
export interface WaitingLanes {
  readonly gated: readonly number[]
  readonly strict: readonly number[]
  readonly upTo: ReadonlyMap<number, Standing>
  /** When a rate allows the next start; null if no run waits for a rate. */
  readonly opensInMs: number | null
}

const NOTHING_WAITS: WaitingLanes = { gated: [], strict: [], upTo: new Map(), opensInMs: null }

/** A side lane: its runs wait for room in a line. */
export interface ServedSide {
  readonly id: number
  readonly line: Line
  readonly isStrict: boolean
  /** Whether its queue or its project has a limit or a rate, so that the runs in it are behind a gate. */
  readonly isLimited: boolean
}

/**
 * The lanes that a worker claims from: those whose queue is not paused and whose labels the worker has. Lanes of a concurrency
 * key, or of a queue with a limit or a rate, are behind gates: they are not cached here but queried when needed.
 */
export class ServedLanes {
  readonly #options: ServedLanesOptions
  #strict: number[] = []
  #open: number[] = []
  #catchUp: number[] = []
  #sides: ServedSide[] = []
  #limited: ReadonlySet<string> | undefined
  #countUntil = Number.NEGATIVE_INFINITY
  #readAt = Number.NEGATIVE_INFINITY

  constructor(options: ServedLanesOptions) {
    this.#options = options
  }

  /** Lanes whose runs may be claimed ahead of a free slot. */
  get open(): readonly number[] {
    return this.#open
  }

  /** Lanes of catch-up runs. */
  get catchUp(): readonly number[] {
    return this.#catchUp
  }

  /** Side lanes, whose runs wait for room in a line. */
  get sides(): readonly ServedSide[] {
    return this.#sides
  }

  serves(lane: number): 'ahead' | 'free' | undefined {
    if (this.#open.includes(lane)) return 'ahead'
    return this.#strict.includes(lane) ? 'free' : undefined
  }

  /** Returns the lanes in which a run waits for its own slot and may have one now, best first. */
  async waiting(wanted: Required<Pick<Offer, 'limit' | 'sides' | 'blocked'>>): Promise<WaitingLanes> {
    const { db } = this.#options
    const labels = this.#options.labels()
    if (labels === null) return NOTHING_WAITS
    const [found] = await db.run(waitingLanes({ labels, ...wanted }))
    const { lanes = [], opensInMs } = found ?? {}
    const idsOf = (isGated: boolean) => lanes.filter((lane) => lane.isGated === isGated).map(({ id }) => id)
    const upTo = new Map<number, Standing>()
    for (const { id, nextPriority, nextWakeAt } of lanes)
      if (nextPriority !== null && nextWakeAt !== null)
        upTo.set(id, { priority: nextPriority, wakeAt: nextWakeAt })
    return { gated: idsOf(true), strict: idsOf(false), upTo, opensInMs: opensInMs ?? null }
  }

  /** Discards the cached lanes because a queue was changed. */
  forget(): void {
    this.#readAt = Number.NEGATIVE_INFINITY
  }

  /**
   * Rereads lanes and gates if the last read is old enough. If a queue has got a limit, the runs in hand that were started
   * before this was known are counted. Returns after how many milliseconds the result may be out of date.
   */
  async refresh(runsInHand: () => readonly string[]): Promise<number> {
    const now = performance.now()
    const age = now - this.#readAt
    if (age < STALE_MS) return STALE_MS - age
    const { db, labels, workerId } = this.#options
    this.#readAt = now
    const offered = labels()
    const lanes = offered === null ? [] : await db.run(servedLanes(offered))
    const limited = new Set((await db.run(limitedGates())).map(({ id }) => id))
    const known = this.#limited ?? limited
    this.#limited = limited
    const own = lanes.filter(({ line, isLimited }) => line === null && !isLimited)
    const onTime = own.filter(({ isCatchUp }) => !isCatchUp)
    this.#sides = lanes.flatMap(({ id, projectId, line: name, isStrict, isLimited }) =>
      name === null ? [] : [{ id, isStrict, isLimited, line: lineNamed(projectId, name) }],
    )
    this.#open = onTime.filter(({ isStrict }) => !isStrict).map(({ id }) => id)
    this.#strict = onTime.filter(({ isStrict }) => isStrict).map(({ id }) => id)
    this.#catchUp = own.filter(({ isCatchUp }) => isCatchUp).map(({ id }) => id)
    if ([...limited].some((gate) => !known.has(gate))) this.#countUntil = now + LATE_START_MS
    if (now > this.#countUntil) return STALE_MS
    const runIds = runsInHand()
    if (runIds.length > 0) {
      await db.run(countRunning({ workerId, runIds }))
      await db.run(countRunningOfProjects({ workerId, runIds }))
    }
    return STALE_MS
  }
}

const lineNamed = (projectId: string, name: string): Line =>
  name === LOCAL.name
    ? LOCAL
    : name === PROGRAMS.name
      ? PROGRAMS
      : { id: `${projectId} ${name}`, projectId, name }
