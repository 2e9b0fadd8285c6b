import { shardOf, uuidv7 } from '../../core/ids.ts'
import { LoopService } from '../../runtime/loop-service.ts'
import {
  type AuditProgress,
  auditSlice,
  endAuditRound,
  holdAudit,
  nextAuditPass,
  saveAudit,
  withoutNextRow,
} from '../../store/audit/audit.ts'
import { noteUnrepaired } from '../../store/audit/findings.ts'
import type { Database, Queryable } from '../../store/database/database.ts'
import type { Logger } from '../../telemetry/logger.ts'
import type { Putting } from '../../transport/transport.ts'
import type { WakeUps } from '../../transport/wake-ups.ts'
import { LostDuties } from './lost-duties.ts'
import { LostOneOffs } from './lost-one-offs.ts'
import { putBack } from './put-back.ts'
import { QueueUse } from './queue-use.ts'
import { StrandedRows } from './stranded-rows.ts'

export interface AuditorOptions {
  readonly db: Database
  readonly transport: Putting
  readonly wakeUps: WakeUps
  readonly log: Logger
}

/** A round over all tasks takes about this long, so that a loss is found within a minute. */
const ROUND_MS = 40_000
/** Number of tasks examined in one slice. */
const SLICE_TASKS = 20_000
/** Maximum number of tasks that one slice repairs; if there are more, the next slice follows at once. */
const MAX_REPAIRS = 200
const SHORTEST_PAUSE_MS = 20
/** Every node checks this often whether a slice is due. */
const ASK_EVERY_MS = 5_000
/** Maximum length of a finding, in characters. */
const MAX_DETAIL = 500

/**
 * Checks, round after round, that every continuing task has its next row, every one-off task a row or a record, and every live
 * row a component that will handle it, and repairs what is missing. Safe to run on every node at once: one of them locks the
 * row with the progress of the walk, and a task is repaired only while it is locked and still has no row.
 */
export class Auditor extends LoopService {
  readonly #options: AuditorOptions
  readonly #duties: LostDuties
  readonly #stranded: StrandedRows
  readonly #oneOffs: LostOneOffs
  readonly #queueUse: QueueUse

  constructor(options: AuditorOptions) {
    super({ name: 'audit', everyMs: ASK_EVERY_MS, log: options.log })
    this.#options = options
    this.#duties = new LostDuties(options)
    this.#stranded = new StrandedRows(options)
    this.#oneOffs = new LostOneOffs(options)
    this.#queueUse = new QueueUse(options)
  }

  /** Handles one slice if one is due; returns how long until the next. */
  async runOnce(): Promise<number> {
    const { db } = this.#options
    const stalled = await db.transaction(async (tx) => {
      const [progress] = await tx.run(holdAudit())
      return progress ? this.#walk(tx, progress) : null
    })
    for (const taskId of stalled?.tasks ?? []) await this.#putBack(taskId)
    if (stalled?.isFirst) {
      await this.#duties.runOnce()
      await this.#stranded.runOnce()
    }
    for (const taskId of await this.#oneOffs.runOnce()) await this.#putBack(taskId)
    await this.#queueUse.runOnce()
    const [next] = await db.run(nextAuditPass())
    return next?.inMs ?? ASK_EVERY_MS
  }

  /** Walks one slice further; returns the tasks in it that have no next row. */
  async #walk(tx: Queryable, progress: AuditProgress): Promise<{ tasks: string[]; isFirst: boolean }> {
    const { walkedTo, roundTasks, beganAt, now, tasks: walked } = progress
    const [slice] = await tx.run(auditSlice({ after: walkedTo, limit: SLICE_TASKS }))
    const { examined = 0, last = null, unsure = [] } = slice ?? {}
    const found = unsure.length === 0 ? [] : (await tx.run(withoutNextRow(unsure))).map(({ id }) => id)
    const tasks = found.slice(0, MAX_REPAIRS)
    const isFirst = walkedTo === null
    if (found.length > tasks.length) {
      await tx.run(saveAudit({ walkedTo: tasks.at(-1) as string, tasks: 0, pauseMs: SHORTEST_PAUSE_MS }))
    } else if (examined < SLICE_TASKS || last === null) {
      const pauseMs = Math.max(SHORTEST_PAUSE_MS, Math.min(ROUND_MS / 2, beganAt + ROUND_MS - now))
      await tx.run(endAuditRound({ tasks: examined, pauseMs }))
    } else {
      const slices = Math.max(
        1,
        Math.ceil((roundTasks ?? 0) / SLICE_TASKS),
        Math.ceil(walked / SLICE_TASKS) + 1,
      )
      await tx.run(saveAudit({ walkedTo: last, tasks: examined, pauseMs: ROUND_MS / 2 / slices }))
    }
    return { tasks, isFirst }
  }

  /** Puts one task back on the agenda, unless it turns out that it needs no row. */
  async #putBack(taskId: string): Promise<void> {
    const { db, log, wakeUps } = this.#options
    try {
      const done = await db.transaction((tx) => putBack(tx, taskId))
      if (!done) return
      log.warn(
        { task: taskId, ...done },
        'the row of the next occurrence of a task was missing and was restored',
      )
      if (done.at !== null) wakeUps.announceDue([{ shard: shardOf(taskId), at: done.at }])
    } catch (error) {
      log.error(
        { err: error, task: taskId },
        'the row of the next occurrence of a task is missing and could not be restored',
      )
      const why = error instanceof Error ? error.message : String(error)
      const detail = `The row of the next occurrence is missing and could not be restored: ${why}`.slice(
        0,
        MAX_DETAIL,
      )
      await db.run(noteUnrepaired({ id: uuidv7(), taskId, detail }))
    }
  }
}
