/**
 * Ends attempts whose worker exceeds their timeout without a report or does not obey a cancellation. A remote worker sends
 * heartbeats from a thread, so it may be alive and yet never handle its runs again. Safe to run on every node at once: the
 * fence decides, including against the worker's own report.
 */
import { uuidv7 } from '../core/ids.ts'
import { durationMs } from '../core/task/task.ts'
import { judge } from '../outcomes/judgement.ts'
import { cancelledEnding } from '../outcomes/lost-attempt.ts'
import { OutcomeWriter } from '../outcomes/outcome-writer.ts'
import type { HoldingClock } from '../runtime/clock.ts'
import { LoopService } from '../runtime/loop-service.ts'
import type { Database } from '../store/database/database.ts'
import { givenAt, type LeasedRunRow, livesRemote, workOfRemotes } from '../store/nodes/remote-runs.ts'
import type { Logger } from '../telemetry/logger.ts'
import type { Definitions } from '../transport/definitions.ts'
import type { Work } from '../transport/transport.ts'
import type { WakeUps } from '../transport/wake-ups.ts'
import { UnnamedRuns } from './unnamed-runs.ts'

export interface OverrunsOptions {
  readonly db: Database
  readonly definitions: Definitions
  readonly wakeUps: WakeUps
  readonly clock: HoldingClock
  readonly log: Logger
  /** A run that a worker has not named for this long is unknown to it. */
  readonly leaseMs: number
}

const EVERY_MS = 5_000
/** The worker's own report has priority; this long after the limit it is no longer waited for. */
const GRACE_MS = 10_000
/** Reading the runs in progress takes longer the more there are; at most this share of the time is spent on it. */
const SHARE = 0.05
/** Number of runs whose definitions are read at once. */
const CHUNK = 500

export class Overruns extends LoopService {
  readonly #options: OverrunsOptions
  readonly #writer: OutcomeWriter
  readonly #unnamed: UnnamedRuns
  /** The latest end of each attempt in progress, by run and fence. */
  #endsAt = new Map<string, number>()

  constructor(options: OverrunsOptions) {
    const { db, wakeUps, clock, log } = options
    super({ name: 'overruns', everyMs: 60_000, log })
    this.#options = options
    this.#writer = new OutcomeWriter({ db, wakeUps, clock, log })
    this.#unnamed = new UnnamedRuns({ ...options, writer: this.#writer })
  }

  override start(): void {
    this.#writer.start()
    super.start()
  }

  override async stop(): Promise<void> {
    await super.stop()
    await this.#writer.stop()
  }

  /** Makes one pass; returns when to look again. */
  async runOnce(): Promise<number> {
    const { db, clock, leaseMs } = this.#options
    if ((await db.run(livesRemote())).length === 0) {
      this.#endsAt = new Map()
      return EVERY_MS
    }
    const beganAt = performance.now()
    const all = await db.run(workOfRemotes(leaseMs))
    const tookMs = performance.now() - beganAt
    await this.#unnamed.handBack(all.filter(({ isUnnamed }) => isUnnamed))
    const leased = all.filter(({ isUnnamed }) => !isUnnamed)
    const known = this.#endsAt
    this.#endsAt = new Map()
    for (let i = 0; i < leased.length; i += CHUNK)
      await this.#look(leased.slice(i, i + CHUNK), known, clock.now())
    return Math.max(EVERY_MS, tookMs / SHARE)
  }

  async #look(
    leased: readonly LeasedRunRow[],
    known: ReadonlyMap<string, number>,
    now: number,
  ): Promise<void> {
    const isOver = (run: LeasedRunRow) => run.isCancelled || (known.get(keyOf(run)) ?? 0) <= now
    for (const run of leased) if (!isOver(run)) this.#endsAt.set(keyOf(run), known.get(keyOf(run)) ?? 0)
    const unsure = leased.filter((run) => isOver(run) && !this.#writer.keeps(run.runId))
    if (unsure.length === 0) return
    const definitions = await this.#options.definitions.of(unsure)
    const late: string[] = []
    for (const [i, run] of unsure.entries()) {
      const definition = definitions[i]
      if (!definition) continue
      const startedAt = givenAt(run)
      const endsAt = startedAt + durationMs(definition.timeout) + GRACE_MS
      const isUnheeded = run.cancelledAt !== null && run.cancelledAt + GRACE_MS <= now
      if (endsAt > now && !isUnheeded) this.#endsAt.set(keyOf(run), endsAt)
      else {
        this.#end({ ...run, definition }, startedAt, now)
        late.push(run.runId)
      }
    }
    if (late.length === 0) return
    this.#options.log.warn({ runs: late }, 'ended attempts that exceeded their timeout')
    await this.#writer.written(new Set(late))
  }

  #end(work: Work, startedAt: number, now: number): void {
    if (work.isCancelled) {
      this.#writer.add({ kind: 'end', ending: cancelledEnding(work, now), isAwaited: true })
      return
    }
    const message = `The worker did not end the attempt within the task's timeout of ${work.definition.timeout}.`
    const outcome = { kind: 'timed_out', error: { code: 'timed_out', message } } as const
    this.#writer.add(judge({ work, outcome, startedAt, endedAt: now }, Math.random, uuidv7))
  }
}

const keyOf = ({ runId, fence }: LeasedRunRow) => `${runId}/${fence}`
