/**
 * What has changed, for all who watch on this node. While somebody does, the database is asked a few times a
 * second what happened since the last look; that sees what any node did, and costs nothing per run and
 * nothing at all while nobody watches.
 *
 * A row becomes visible a moment after the instant that it carries, so each look reaches back a little behind
 * the last one, and what it comes across as it was before is no news.
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

/** How often the database is asked, at most; and never so often that it costs more than a twentieth of the time. */
const EVERY_MS = 500
const PAUSE_PER_MS = 20
const LONGEST_PAUSE_MS = 5_000
/** An end is stored within moments, or refused. */
const REACH_BACK_MS = 10_000
/** Whoever comes again knows what was told; what was stored late is hardly ever later than this. */
const RESUME_BACK_MS = 2_000
const CLOCKS_DIFFER_MS = 5 * 60_000
/** How much of each kind one look takes in. */
const MAX_SEEN = 2_000
const LIVE_PER_SHARD = 16
/** Runs, and tasks, that one message holds; when there are more it says so. */
export const MAX_TOLD = 100

/** Hears of changes, and up to which instant it has heard of all of them. */
export type ChangeListener = (changes: Changes, until: number) => void

export interface ChangeFeedOptions extends Pick<Facilities, 'db' | 'clock'> {
  readonly projectId: string
  readonly log: Logger
}

/** The feeds of a node: one for each project that somebody watches. */
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

/** Looks for changes while somebody listens. */
export class ChangeFeed {
  readonly #options: ChangeFeedOptions
  readonly #listeners = new Set<ChangeListener>()
  /** What the last look came across. */
  #seen = new Map<string, string>()
  /** The database's time of the last look. */
  #until = 0
  #timer: NodeJS.Timeout | undefined
  #begun: Promise<void> | undefined

  constructor(options: ChangeFeedOptions) {
    this.#options = options
  }

  /** Begins to listen; resolves once everything that happens from then on will be told. */
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

  /** What has happened since an instant, or null when that is more than one message holds. */
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

  /** The first look is what the later ones are compared with; it tells nobody anything. */
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
      // Only now: what could not be told is still news.
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

/** What one look comes across. */
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

/** News as it is shown: the latest runs and tasks as they are now, and whether that is all of them. */
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
  // So much has changed that it is not all told; then nobody knows which of the others are gone.
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

/** Runs in the order of their ids, as many as a page may hold. */
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
