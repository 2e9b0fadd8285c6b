/**
 * Decides about due rows: which run, which are skipped, and which rows follow. A row that cannot be decided is set
 * aside, so that it does not delay the others.
 */
import { uuidv7 } from '../core/ids.ts'
import { stretchAt } from '../core/policy/misfire.ts'
import type { Clock } from '../runtime/clock.ts'
import { inTurns, Turns } from '../runtime/turns.ts'
import type { SetAside } from '../store/database/set-aside.ts'
import type { Logger } from '../telemetry/logger.ts'
import type { BlackoutBook } from './blackout-book.ts'
import { type DueCase, decide, decideSteps, dueInstant, mayTakeLong } from './decide.ts'
import type { Due } from './due-queue.ts'
import type { Decided } from './firing.ts'
import type { ShardLeases } from './shard-leases.ts'

export interface DecidingOptions {
  readonly clock: Clock
  readonly log: Logger
  readonly leases: ShardLeases
  readonly blackouts: BlackoutBook
  /** After an unwatched period no longer than this, the newest occurrence runs late under every misfire policy. */
  readonly misfireGraceMs: number
}

/** A batch with rows overdue by more than this yields every few milliseconds, so it may take long. */
const LONG_MISSED_MS = 60_000
/**
 * Deciding about a batch that is on time takes a few milliseconds and is not interrupted. One that takes longer than this, for
 * example because of tasks with many triggers, yields to other work.
 */
const ON_TIME_TURN_MS = 20

export class Deciding {
  readonly #options: DecidingOptions
  readonly #aside: SetAside<Pick<Due, 'row'>>

  constructor(options: DecidingOptions, aside: SetAside<Pick<Due, 'row'>>) {
    this.#options = options
    this.#aside = aside
  }

  /**
   * Decides about rows. After an outage a decision may walk through all the missed occurrences of a task, and yields to other
   * work meanwhile.
   */
  async aboutAll(dues: readonly Due[]): Promise<Decided[]> {
    const longAgo = this.#options.clock.now() - LONG_MISSED_MS
    const turns = new Turns(dues.some(({ row }) => row.wakeAt <= longAgo) ? undefined : ON_TIME_TURN_MS)
    const decided: Decided[] = []
    for (const due of dues) {
      try {
        const asked = this.#caseOf(due)
        if (asked === null) continue
        const decision = mayTakeLong(asked) ? await inTurns(decideSteps(asked), turns) : decide(asked)
        decided.push({ ...due, decision })
      } catch (error) {
        this.#leaveUndecided(due, error)
      }
      if (turns.isOver) await turns.pass()
    }
    return decided
  }

  /** Decides about rows for which no decision can take long. */
  atOnce(dues: readonly Due[]): Decided[] {
    return dues.flatMap((due) => {
      try {
        const asked = this.#caseOf(due)
        return asked === null ? [] : [{ ...due, decision: decide(asked) }]
      } catch (error) {
        this.#leaveUndecided(due, error)
        return []
      }
    })
  }

  /** A definition that cannot be read, because of a manual change or a bug, does not affect other tasks. */
  #leaveUndecided(due: Due, error: unknown): void {
    const { runId, taskId, version } = due.row
    this.#options.log.error({ err: error, runId, taskId, version }, 'cannot decide what to do with due runs')
    void this.#aside.refuse(due, error)
  }

  /** Collects what a decision depends on; returns null if this node no longer owns the shard. */
  #caseOf({ row, definition }: Due): DueCase | null {
    const { leases, blackouts, clock, misfireGraceMs } = this.#options
    const lease = leases.get(row.shard)
    if (!lease) return null
    const missedIn = stretchAt(lease.unwatched, dueInstant({ row, definition }))
    return {
      row,
      definition,
      now: clock.now(),
      missedIn,
      misfireGraceMs,
      blackouts: blackouts.of(row.taskId),
      newId: uuidv7,
    }
  }
}
