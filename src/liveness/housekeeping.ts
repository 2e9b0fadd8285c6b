import { leastUuidAt } from '../core/ids.ts'
import type { Logger } from '../runtime/logger.ts'
import { LoopService } from '../runtime/loop-service.ts'
import { forgetFindings } from '../store/audit.ts'
import { forgetBackfills } from '../store/backfills.ts'
import { forgetClockSteps } from '../store/clock-steps.ts'
import type { Database } from '../store/database.ts'
import { forgetSettled } from '../store/dead-letters.ts'
import { forgetLateEnds } from '../store/ended-runs.ts'
import { dropPartitions, ensurePartitions, summariseHistory } from '../store/history.ts'
import { forgetNames } from '../store/named-runs.ts'
import { forgetNodes, forgetUnusedWorkers } from '../store/nodes.ts'
import { forgetRedrives } from '../store/redrives.ts'
import { forgetRefused } from '../store/refused-rows.ts'
import { forgetProgress } from '../store/remote-workers.ts'
import { forgetOverrides } from '../store/run-overrides.ts'
import { forgetRetries } from '../store/runs.ts'
import { forgetUnwatched } from '../store/shards.ts'
import { forgetTallies } from '../store/tally.ts'
import { forgetAnswers } from '../store/tasks.ts'

/** Drops are spread out, so that whoever waits for one waits for one only. */
const BETWEEN_DROPS_MS = 1_000
const ANSWERS_KEPT_HOURS = 24
/** A run may go on for long after it was asked for, and its row of history is kept from its end on. */
const ASKED_KEPT_LONGER_DAYS = 7
const DAY_MS = 86_400_000
/** A worker that comes back late shall still hear that it was declared dead. */
const UNUSED_KEPT_MINUTES = 10
const MAX_UNUSED_FORGOTTEN = 20_000
/** Progress that one pass forgets; the rest waits for the next. */
const MAX_PROGRESS_FORGOTTEN = 100_000

export interface HousekeepingOptions {
  readonly db: Database
  readonly log: Logger
  /** History of runs that ended longer ago is dropped. */
  readonly historyDays: number
  /** Dead nodes are forgotten after so long. */
  readonly deadNodeMinutes: number
  readonly everyMs: number
}

/** Makes tomorrow's partitions and forgets what has served its time. Safe on every node at once. */
export class Housekeeping extends LoopService {
  readonly #options: HousekeepingOptions

  constructor(options: HousekeepingOptions) {
    super({ name: 'housekeeping', everyMs: options.everyMs, log: options.log })
    this.#options = options
  }

  /** One pass; answers soon again while there is more to drop. */
  async runOnce(): Promise<number | undefined> {
    const { db, log, historyDays, deadNodeMinutes } = this.#options
    await db.run(ensurePartitions())
    await db.run(summariseHistory())
    await db.run(forgetAnswers(ANSWERS_KEPT_HOURS))
    await db.run(forgetNodes(deadNodeMinutes))
    await db.run(forgetUnusedWorkers(UNUSED_KEPT_MINUTES, MAX_UNUSED_FORGOTTEN))
    const asked = leastUuidAt(Date.now() - (historyDays + ASKED_KEPT_LONGER_DAYS) * DAY_MS)
    await db.run(forgetRetries(asked))
    await db.run(forgetOverrides(asked))
    await db.run(forgetBackfills(historyDays + ASKED_KEPT_LONGER_DAYS))
    await db.run(forgetTallies(historyDays))
    await db.run(forgetProgress(MAX_PROGRESS_FORGOTTEN))
    await db.run(forgetNames(MAX_PROGRESS_FORGOTTEN))
    await db.run(forgetFindings(historyDays))
    await db.run(forgetClockSteps(historyDays))
    await db.run(forgetUnwatched(historyDays))
    await db.run(forgetLateEnds(historyDays))
    await db.run(forgetSettled(historyDays))
    await db.run(forgetRedrives(historyDays))
    await db.run(forgetRefused(historyDays))
    const [result] = await db.run(dropPartitions(historyDays))
    if (!result?.dropped) return undefined
    log.info({ partitions: result.dropped, historyDays }, 'old history dropped')
    return BETWEEN_DROPS_MS
  }
}
