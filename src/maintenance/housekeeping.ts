import { leastUuidAt } from '../core/ids.ts'
import { DAY_MS } from '../core/values/time-units.ts'
import { LoopService } from '../runtime/loop-service.ts'
import { deleteOldUnwatched } from '../store/agenda/shards.ts'
import { deleteOldFindings } from '../store/audit/findings.ts'
import { dropAuditPartitions, ensureAuditPartitions } from '../store/audit-log/audit-partitions.ts'
import { deleteOldBackfills } from '../store/backfills/backfills.ts'
import type { Database } from '../store/database/database.ts'
import { deleteOldRefusedRows } from '../store/database/refused-rows.ts'
import { deleteOldSettledLetters } from '../store/history/dead-letters.ts'
import { deleteOldLateEnds } from '../store/history/ended-runs.ts'
import { dropPartitions, ensurePartitions, summariseHistory } from '../store/history/partitions.ts'
import { deleteOldRedrives } from '../store/history/redrives.ts'
import { longestHistory } from '../store/history/retention.ts'
import { deleteOldRetries } from '../store/history/runs.ts'
import { deleteOldTallies } from '../store/history/tally.ts'
import { deleteFullQuotas } from '../store/limits/request-quotas.ts'
import { deleteOldBeats } from '../store/nodes/attempt-beats.ts'
import { deleteOldClockSteps } from '../store/nodes/clock-steps.ts'
import { deleteStaleNames } from '../store/nodes/named-runs.ts'
import { deleteDeadNodes, deleteUnusedWorkers } from '../store/nodes/nodes.ts'
import { deleteStaleProgress } from '../store/nodes/remote-runs.ts'
import { removeSideLanes } from '../store/queues/side-lanes.ts'
import { deleteReplacedSecrets } from '../store/secrets/secrets.ts'
import { deleteOldCircuitEvents, deleteStaleCircuits } from '../store/targets/target-circuits.ts'
import { deleteStaleTargetReports } from '../store/targets/target-reports.ts'
import { deleteOldAnswers } from '../store/tasks/answers.ts'
import { deleteOldOverrides } from '../store/tasks/run-overrides.ts'
import type { Logger } from '../telemetry/logger.ts'
import { recountProjectGates } from './project-gates.ts'
import { UnusedFiles } from './unused-files.ts'
import { UnusedQueues } from './unused-queues.ts'

/** Drops are spread out, so that a query waits for at most one of them. */
const BETWEEN_DROPS_MS = 1_000
const ANSWERS_KEPT_HOURS = 24
/** A run may continue long after it was requested, and its row of history is kept from its end on. */
const ASKED_KEPT_LONGER_DAYS = 7
/** Side lanes that have been empty for this long are removed; nodes register those they use every ten minutes. */
const SIDE_LANES_KEPT_MINUTES = 60
const MAX_SIDE_LANES_REMOVED = 1_000
/** A worker that returns late must still learn that it was declared dead. */
const UNUSED_KEPT_MINUTES = 10
const MAX_UNUSED_FORGOTTEN = 20_000
/** Longer than any attempt lasts that was given the old value. */
const REPLACED_SECRETS_KEPT_HOURS = 25
/** Maximum number of progress rows deleted in one pass; the rest waits for the next. */
const MAX_PROGRESS_FORGOTTEN = 100_000
/** Heartbeats of ended attempts are kept for as long as a program may run by default. */
const BEATS_KEPT_MINUTES = 20

/** A quota that was not used for this long is full, whatever its rate. */
const QUOTAS_KEPT_MINUTES = 120
const MAX_QUOTAS_FORGOTTEN = 10_000

export interface HousekeepingOptions {
  readonly db: Database
  readonly log: Logger
  /** History of runs that ended longer ago is dropped, unless a project keeps its own for longer. */
  readonly historyDays: number
  /** Entries of the audit log that are older are dropped, by the month, with the same exception. */
  readonly auditDays: number
  /** Dead nodes are deleted after this time. */
  readonly deadNodeMinutes: number
  /** Queues unused for longer are removed; 0 removes none. */
  readonly unusedQueueDays: number
  /** Files unused for longer are removed; 0 removes none. */
  readonly unusedFileDays: number
  readonly everyMs: number
}

/** Creates partitions in advance and deletes expired data. Safe to run on every node at once. */
export class Housekeeping extends LoopService {
  readonly #options: HousekeepingOptions
  readonly #queues: UnusedQueues
  readonly #files: UnusedFiles

  constructor(options: HousekeepingOptions) {
    super({ name: 'housekeeping', everyMs: options.everyMs, log: options.log })
    this.#options = options
    this.#queues = new UnusedQueues({ ...options, days: options.unusedQueueDays })
    this.#files = new UnusedFiles({ ...options, days: options.unusedFileDays })
  }

  /** Makes one pass; returns a short delay while there is more to delete. */
  async runOnce(): Promise<number | undefined> {
    const { db, log, historyDays, auditDays, deadNodeMinutes } = this.#options
    await db.run(ensurePartitions())
    await db.run(ensureAuditPartitions())
    await db.run(summariseHistory())
    await db.run(deleteOldAnswers(ANSWERS_KEPT_HOURS))
    await db.run(deleteDeadNodes(deadNodeMinutes))
    await db.run(deleteUnusedWorkers(UNUSED_KEPT_MINUTES, MAX_UNUSED_FORGOTTEN))
    // What belongs to runs is kept as long as the runs of any project are.
    const [{ days: keptDays } = { days: historyDays }] = await db.run(longestHistory(historyDays))
    const asked = leastUuidAt(Date.now() - (keptDays + ASKED_KEPT_LONGER_DAYS) * DAY_MS)
    await db.run(deleteOldRetries(asked))
    await db.run(deleteOldOverrides(asked))
    await db.run(deleteOldBackfills(keptDays + ASKED_KEPT_LONGER_DAYS))
    await db.run(deleteOldTallies(historyDays))
    await db.run(deleteStaleProgress(MAX_PROGRESS_FORGOTTEN))
    await db.run(deleteStaleNames(MAX_PROGRESS_FORGOTTEN))
    await db.run(deleteOldBeats({ minutes: BEATS_KEPT_MINUTES, limit: MAX_PROGRESS_FORGOTTEN }))
    await db.run(removeSideLanes({ minutes: SIDE_LANES_KEPT_MINUTES, limit: MAX_SIDE_LANES_REMOVED }))
    await db.run(deleteStaleTargetReports())
    await db.run(deleteStaleCircuits())
    await db.run(deleteOldCircuitEvents(keptDays))
    await db.run(deleteOldFindings(keptDays))
    await db.run(deleteOldClockSteps(keptDays))
    await db.run(deleteOldUnwatched(keptDays))
    await db.run(deleteOldLateEnds(keptDays))
    await db.run(deleteOldSettledLetters(keptDays))
    await db.run(deleteOldRedrives(keptDays))
    await db.run(deleteOldRefusedRows(keptDays))
    await db.run(deleteReplacedSecrets(REPLACED_SECRETS_KEPT_HOURS))
    await db.run(deleteFullQuotas(QUOTAS_KEPT_MINUTES, MAX_QUOTAS_FORGOTTEN))
    await recountProjectGates({ db, log })
    const [result] = await db.run(dropPartitions(historyDays))
    if (result?.dropped) log.info({ partitions: result.dropped, keptDays }, 'old history deleted')
    const [old] = await db.run(dropAuditPartitions(auditDays))
    if (old?.dropped) log.info({ partitions: old.dropped, auditDays }, 'deleted old entries of the audit log')
    const hasMore = [await this.#queues.runOnce(), await this.#files.runOnce()].includes(true)
    return result?.dropped || old?.dropped || hasMore ? BETWEEN_DROPS_MS : undefined
  }
}
