/**
 * Finds changes for all clients that watch on this node. While there are any, the database is queried a few times a second for
 * what has happened since the last query. This sees what any node did, and costs nothing per run and nothing at all while no
 * client watches.
 *
 * A row becomes visible slightly after the instant that it contains, so each query reaches back a little before the last one,
 * and rows that are unchanged since then are ignored.
 */

import { utc } from '../../../core/values/utc.ts'
import { outcomeWords } from '../../../core/words/outcome.ts'
import type { Facilities } from '../../../operations/context.ts'
import type { Queryable } from '../../../store/database/database.ts'
import { type ChangedItem, type ChangedItems, changesSince } from '../../../store/history/change-feed.ts'
import { runsById } from '../../../store/history/run-search.ts'
import { type CircuitNews, circuitsChangedSince } from '../../../store/targets/target-circuits.ts'
import { findTasks } from '../../../store/tasks/tasks.ts'
import type { Logger } from '../../../telemetry/logger.ts'
import { presentRun } from '../runs/present.ts'
import { presentTask } from '../tasks/present.ts'
import type { Changes, CircuitEvent, RunChange } from './schemas.ts'

/** Minimum interval between queries; it is extended so that they use no more than a twentieth of the time. */
const EVERY_MS = 500
const PAUSE_PER_MS = 20
const LONGEST_PAUSE_MS = 5_000
/** How far each query reaches back: the end of a run is stored within this time, or rejected. */
const REACH_BACK_MS = 10_000
/** How far back a resumed stream reads: its client knows what was sent before, and rows are hardly ever stored later than this. */
const RESUME_BACK_MS = 2_000
const CLOCKS_DIFFER_MS = 5 * 60_000
/** Maximum number of rows of each kind that one query reads. */
const MAX_SEEN = 2_000
const LIVE_PER_SHARD = 16
/** Maximum number of runs, and of tasks, per message; if there are more, the message says so. */
export const MAX_TOLD = 100

/** Called with changes, and with the instant up to which the listener knows all of them. */
export type ChangeListener = (changes: Changes, until: number) => void

export interface ChangeFeedOptions extends Pick<Facilities, 'db' | 'clock'> {
  readonly projectId: string
  readonly log: Logger
}

/** The feeds of a node: one for each project that is being watched. */
export class ChangeFeeds {
  readonly #facilities: Facilities
  readonly #log: Logger
  readonly #byProject = new Map<string, ChangeFeed>()

  constructor(facilities: Facilities, log: Logger) {
    this.#facilities = facilities
    this.#log = log
  }

  of(projectId: string): ChangeFeed {
    const known = this.#byProject.get(projectId)
    if (known) return known
    const { db, clock } = this.#facilities
    const feed = new ChangeFeed({ db, clock, projectId, log: this.#log })
    this.#byProject.set(projectId, feed)
    return feed
  }

  stop(): void {
    for (const feed of this.#byProject.values()) feed.stop()
  }
}

/** Queries for changes while there are listeners. */
export class ChangeFeed {
  readonly #options: ChangeFeedOptions
  readonly #listeners = new Set<ChangeListener>()
  /** The rows that the last query found. */
  #seen = new Map<string, string>()
  /** The database's time of the last query. */
  #until = 0
  #timer: NodeJS.Timeout | undefined
  #begun: Promise<void> | undefined

  constructor(options: ChangeFeedOptions) {
    this.#options = options
  }

  /** Adds a listener; resolves once all later changes will be passed to it. */
  async listen(listener: ChangeListener): Promise<() => void> {
    this.#listeners.add(listener)
    const stop = () => {
      this.#listeners.delete(listener)
      if (this.#listeners.size === 0) this.#rest()
    }
    try {
      this.#begun ??= this.#begin()
      await this.#begun
    } catch (error) {
      stop()
      throw error
    }
    return stop
  }

  /** Returns what has happened since an instant; null if that is more than one message may contain. */
  since(at: number): Promise<Changes | null> {
    const { db, projectId } = this.#options
    return db.snapshot(async (tx) => {
      const { now, items, circuits } = await look(tx, projectId, at)
      const isNew = (item: { readonly at: number }) => item.at >= at - RESUME_BACK_MS
      const changes = await tell(tx, projectId, {
        now,
        news: items.filter(isNew),
        circuits: circuits.filter(isNew),
      })
      return changes.isComplete ? changes : null
    })
  }

  stop(): void {
    this.#listeners.clear()
    this.#rest()
  }

  #rest(): void {
    clearTimeout(this.#timer)
    this.#begun = undefined
  }

  /** Runs the first query, which later ones are compared with; it notifies no listener. */
  async #begin(): Promise<void> {
    const { db, projectId, clock } = this.#options
    this.#remember(await db.snapshot((tx) => look(tx, projectId, clock.now())))
    this.#lookIn(EVERY_MS)
  }

  #lookIn(ms: number): void {
    clearTimeout(this.#timer)
    if (this.#listeners.size === 0) return
    this.#timer = setTimeout(() => void this.#lookAgain(), ms)
    this.#timer.unref()
  }

  async #lookAgain(): Promise<void> {
    const { db, projectId } = this.#options
    const startedAt = performance.now()
    let pauseMs = LONGEST_PAUSE_MS
    try {
      const { seen, changes } = await db.snapshot(async (tx) => {
        const seen = await look(tx, projectId, this.#until)
        const news = seen.items.filter(({ kind, id, stamp }) => this.#seen.get(`${kind} ${id}`) !== stamp)
        const circuits = seen.circuits.filter((c) => this.#seen.get(`circuit ${c.target}`) !== stampOf(c))
        const isQuiet = news.length + circuits.length === 0
        return {
          seen,
          changes: isQuiet ? null : await tell(tx, projectId, { now: seen.now, news, circuits }),
        }
      })
      // Only after the changes were read: if that fails, they must count as new in the next query.
      this.#remember(seen)
      if (changes) for (const listener of [...this.#listeners]) listener(changes, this.#until)
      pauseMs = Math.max(EVERY_MS, (performance.now() - startedAt) * PAUSE_PER_MS)
    } catch (error) {
      this.#options.log.warn({ err: error }, 'cannot read changes; retrying')
    }
    this.#lookIn(Math.min(LONGEST_PAUSE_MS, pauseMs))
  }

  #remember({ now, items, circuits }: Seen): void {
    this.#seen = new Map([
      ...items.map((item) => [`${item.kind} ${item.id}`, item.stamp] as const),
      ...circuits.map((circuit) => [`circuit ${circuit.target}`, stampOf(circuit)] as const),
    ])
    this.#until = now
  }
}

/** What one query finds. */
interface Seen extends ChangedItems {
  readonly circuits: readonly CircuitNews[]
}

const stampOf = ({ isOpen, at }: CircuitNews): string => `${isOpen} ${at}`

async function look(tx: Queryable, projectId: string, since: number): Promise<Seen> {
  const [seen] = await tx.run(
    changesSince({
      projectId,
      since: since - REACH_BACK_MS,
      madeSince: since - CLOCKS_DIFFER_MS,
      limit: MAX_SEEN,
      livePerShard: LIVE_PER_SHARD,
    }),
  )
  const circuits = await tx.run(
    circuitsChangedSince({ projectId, since: since - REACH_BACK_MS, limit: MAX_TOLD }),
  )
  return { ...(seen ?? { now: since, items: [] }), circuits }
}

const isTask = ({ kind }: ChangedItem) => kind === 'made' || kind === 'changed'

/** Returns the message about changes: the latest runs and tasks as they are now, and whether these are all. */
async function tell(
  tx: Queryable,
  projectId: string,
  { now, news, circuits }: { now: number; news: readonly ChangedItem[]; circuits: readonly CircuitNews[] },
): Promise<Changes> {
  const runIds = idsOf(news.filter((item) => !isTask(item)))
  const taskIds = idsOf(news.filter(isTask))
  const oldestEnd = Math.min(now, ...news.flatMap(({ kind, at }) => (kind === 'ended' ? at : [])))
  const { runs, isCut: areRunsCut } = await readRuns(tx, runIds.slice(0, MAX_TOLD), oldestEnd)
  const concerned = [...new Set([...taskIds, ...runs.map(({ taskId }) => taskId)])].slice(0, 2 * MAX_TOLD)
  const rows =
    concerned.length === 0
      ? []
      : await tx.run(findTasks({ projectId, ids: concerned, limit: concerned.length }))
  // If not all tasks could be read, it is unknown which of the others were deleted.
  const isCut = rows.at(-1)?.hasNext === true
  const found = new Set(isCut ? taskIds : rows.map(({ id }) => id))
  return {
    now: utc(now),
    runs,
    tasks: rows.map(presentTask),
    deletedTasks: taskIds.slice(0, MAX_TOLD).filter((id) => !found.has(id)),
    circuits: circuits.map(circuitEvent),
    isComplete: !isCut && !areRunsCut && runIds.length <= MAX_TOLD && taskIds.length <= MAX_TOLD,
  }
}

const circuitEvent = ({ target, isOpen, at, until, error }: CircuitNews): CircuitEvent => ({
  event: isOpen ? 'target.circuit_opened' : 'target.circuit_closed',
  target,
  at: utc(at),
  nextProbeAt: until === null ? null : utc(until),
  error: error && { code: error.code, message: error.message },
})

const idsOf = (items: readonly ChangedItem[]): string[] => [...new Set(items.map(({ id }) => id))]

/** Returns runs ordered by id, as many as a page may contain. */
async function readRuns(
  tx: Queryable,
  ids: readonly string[],
  endedFrom: number,
): Promise<{ runs: RunChange[]; isCut: boolean }> {
  if (ids.length === 0) return { runs: [], isCut: false }
  const rows = await tx.run(runsById({ ids, endedFromUs: endedFrom * 1_000 }))
  const runs = rows.map((row) => {
    const { output, ...run } = presentRun(row)
    return { ...run, outcome: outcomeWords({ output, error: run.error }) }
  })
  return { runs, isCut: rows.at(-1)?.hasNext === true }
}
