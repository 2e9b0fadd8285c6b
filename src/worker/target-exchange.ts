/**
 * Exchanges what this node knows of targets with users and other nodes, through the database: it reads settings and the
 * circuits that other nodes have opened, and writes transitions of its own circuits and reports for users. Losing any of it
 * does no harm: each node finds out by calling.
 *
 * A node that makes no calls writes nothing.
 */
import type { TargetBook } from '../outgoing/targets/target-book.ts'
import type { CircuitTransition } from '../outgoing/targets/transitions.ts'
import type { Clock } from '../runtime/clock.ts'
import { LoopService } from '../runtime/loop-service.ts'
import { mapInTurns } from '../runtime/turns.ts'
import type { Queryable } from '../store/database/database.ts'
import { type CircuitChange, writeCircuits } from '../store/targets/target-circuits.ts'
import { readTargetKnowledge, type TargetKnowledge } from '../store/targets/target-knowledge.ts'
import { dropTargetReports, writeTargetReports } from '../store/targets/target-reports.ts'
import type { Logger } from '../telemetry/logger.ts'
import type { WakeUps } from '../transport/wake-ups.ts'
import { TargetReports } from './target-reports.ts'

export interface TargetExchangeOptions {
  readonly nodeId: string
  readonly db: Queryable
  readonly book: Pick<TargetBook, 'configure' | 'learn' | 'drainTransitions' | 'reports'>
  readonly wakeUps: WakeUps
  readonly clock: Clock
  readonly log: Logger
  /** The clock of the book: monotonic milliseconds. */
  readonly bookNow?: () => number
}

/** Transitions are written within this time. Without transitions a pass costs nothing. */
const EVERY_MS = 250
/** Changes are announced; a node that missed the wake-up notices them within this time. */
const READ_EVERY_MS = 2_000
const READ_WHILE_OPEN_MS = 1_000
const REPORT_EVERY_MS = 2_000
/** A node reports at most this many targets, those with the most activity. */
const MAX_REPORTED = 1_000
/**
 * Other nodes wait this long for the probe of the node that opened a circuit. If that node has no run to probe with, they probe
 * themselves.
 */
const WAIT_FOR_PROBE_MS = 2 * READ_WHILE_OPEN_MS
/** Maximum number of reports that one statement writes. */
const REPORTS_AT_ONCE = 200

export class TargetExchange extends LoopService {
  readonly #options: Required<TargetExchangeOptions>
  readonly #reports = new TargetReports()
  /** Circuit transitions by project and target, until they are stored. */
  readonly #unstored = new Map<string, CircuitChange>()
  /** Counts announcements of changes. A read covers the announcements made before it began. */
  #told = 0
  #heeded = -1
  #readAt = Number.NEGATIVE_INFINITY
  #reportedAt = Number.NEGATIVE_INFINITY
  #areOpenElsewhere = false
  #workers = 1
  #settings = ''

  constructor(options: TargetExchangeOptions) {
    super({ name: 'targets', everyMs: EVERY_MS, log: options.log })
    this.#options = { bookNow: () => performance.now(), ...options }
    options.wakeUps.onTargets(() => {
      this.#told++
      this.wake()
    })
  }

  /** Number of nodes that share the rates: live nodes with the role worker, at least this one. */
  get workers(): number {
    return this.#workers
  }

  /** Resolves when the settings have been read: paused targets must not be called before that. */
  override async start(): Promise<void> {
    await this.#read()
    super.start()
  }

  override async stop(): Promise<void> {
    await super.stop()
    // Reports of a dead node are ignored anyway, so a failure does not matter.
    await this.#options.db.run(dropTargetReports(this.#options.nodeId)).catch(() => {})
  }

  async runOnce(): Promise<undefined> {
    await this.#storeTransitions()
    const now = this.#options.bookNow()
    const readEveryMs = this.#areOpenElsewhere ? READ_WHILE_OPEN_MS : READ_EVERY_MS
    if (this.#told !== this.#heeded || now - this.#readAt >= readEveryMs) await this.#read()
    if (now - this.#reportedAt >= REPORT_EVERY_MS) await this.#report(now)
  }

  async #storeTransitions(): Promise<void> {
    const { book, db, nodeId, wakeUps } = this.#options
    const offsetMs = this.#offsetMs()
    for (const transition of book.drainTransitions())
      this.#unstored.set(`${transition.projectId} ${transition.target}`, changeOf(transition, offsetMs))
    if (this.#unstored.size === 0) return
    const changes = [...this.#unstored.values()]
    const stored = await db.run(writeCircuits(nodeId, changes))
    this.#unstored.clear()
    for (const { projectId, target, event } of stored)
      if (event !== null)
        this.#log(
          event,
          changes.find((c) => c.projectId === projectId && c.target === target),
        )
    wakeUps.announceTargets()
  }

  /** Logged once for all nodes, by the first that opens a circuit and the last that closes it. */
  #log(event: 'opened' | 'closed', change: CircuitChange | undefined): void {
    if (!change) return
    const { log } = this.#options
    const { projectId, target, openedAt, until, error } = change
    const since = new Date(openedAt).toISOString()
    if (event === 'closed')
      log.info({ event: 'target.circuit_closed', projectId, target, since }, 'circuit closed')
    else
      log.warn(
        {
          event: 'target.circuit_opened',
          projectId,
          target,
          nextProbeAt: until === null ? null : new Date(until).toISOString(),
          error,
        },
        'circuit opened: calls to the target wait',
      )
  }

  async #read(): Promise<void> {
    const { db, nodeId, bookNow } = this.#options
    const told = this.#told
    const [knowledge] = await db.run(readTargetKnowledge(nodeId))
    if (!knowledge) return
    this.#heeded = told
    this.#readAt = bookNow()
    this.#workers = Math.max(1, knowledge.workers)
    this.#configure(knowledge)
    this.#learn(knowledge)
    this.#areOpenElsewhere = knowledge.circuits.length > 0
  }

  #configure({ settings }: TargetKnowledge): void {
    const text = `${this.#workers} ${JSON.stringify(settings)}`
    if (text === this.#settings) return
    this.#settings = text
    this.#options.book.configure(settings)
  }

  #learn({ circuits }: TargetKnowledge): void {
    if (circuits.length === 0 && !this.#areOpenElsewhere) return
    const { book } = this.#options
    const offsetMs = this.#offsetMs()
    book.learn(
      circuits.map((circuit) => ({
        ...circuit,
        openedAt: circuit.openedAt - offsetMs,
        until: circuit.until - offsetMs + WAIT_FOR_PROBE_MS,
      })),
    )
  }

  async #report(now: number): Promise<void> {
    const { db, nodeId, book } = this.#options
    this.#reportedAt = now
    const reports = await mapInTurns(book.reports(MAX_REPORTED), (report) => report)
    const lines = await this.#reports.changed(reports, { now, offsetMs: this.#offsetMs() })
    try {
      for (let i = 0; i < lines.length; i += REPORTS_AT_ONCE)
        await db.run(writeTargetReports(nodeId, lines.slice(i, i + REPORTS_AT_ONCE)))
    } catch (error) {
      this.#reports.forget()
      throw error
    }
  }

  /** Offset from the clock of the book to that of the database. */
  #offsetMs(): number {
    return this.#options.clock.now() - this.#options.bookNow()
  }
}

function changeOf(transition: CircuitTransition, offsetMs: number): CircuitChange {
  const { projectId, target, change, at, openedAt, until, error } = transition
  return {
    projectId,
    target,
    state: change === 'closed' ? 'closed' : 'open',
    openedAt: Math.round(openedAt + offsetMs),
    until: until === null ? null : Math.round(until + offsetMs),
    error: error && { code: error.code, message: error.message, at: Math.round(at + offsetMs) },
  }
}
