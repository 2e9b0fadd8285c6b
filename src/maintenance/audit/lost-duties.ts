import { shardOf, uuidv7 } from '../../core/ids.ts'
import { nextOccurrence } from '../../core/schedule/occurrences.ts'
import { planOf } from '../../core/task/task.ts'
import { insertFindings } from '../../store/audit/findings.ts'
import { clearSkip, type DutyLook, dutyLost, withoutDuty } from '../../store/audit/lost-duties.ts'
import type { Queryable } from '../../store/database/database.ts'
import { insertDuty } from '../../store/tasks/duties.ts'
import { lockTaskRow } from '../../store/tasks/locked-task.ts'
import type { AuditorOptions } from './auditor.ts'

/** Number of tasks that one statement examines, and maximum number of statements per look. */
const SLICE_TASKS = 20_000
const MAX_SLICES = 100

/**
 * A pause that ends by itself, and occurrences to be skipped, each depend on one agenda row. Checks that the row exists, and
 * restores it while the task is locked and still without it.
 */
export class LostDuties {
  readonly #options: AuditorOptions

  constructor(options: AuditorOptions) {
    this.#options = options
  }

  /** Examines all such tasks once. */
  async runOnce(): Promise<void> {
    let after: string | null = null
    for (let slice = 0; slice < MAX_SLICES; slice++) {
      const [look]: DutyLook[] = await this.#options.db.run(withoutDuty({ after, limit: SLICE_TASKS }))
      for (const taskId of look?.tasks ?? []) await this.#putBack(taskId)
      if (!look?.last) return
      after = look.last
    }
  }

  async #putBack(taskId: string): Promise<void> {
    const { db, log, wakeUps } = this.#options
    try {
      const done = await db.transaction((tx) => putDutyBack(tx, taskId))
      if (!done) return
      log.warn(
        { task: taskId, ...done },
        'a row that ends a pause or skips occurrences was missing and was restored',
      )
      wakeUps.announceDue([{ shard: shardOf(taskId), at: done.at }])
    } catch (error) {
      log.error(
        { err: error, task: taskId },
        'a row that ends a pause or skips occurrences is missing and could not be restored',
      )
    }
  }
}

/** Restores the row that ends a pause or skips occurrences; if it is overdue it is handled at once. */
async function putDutyBack(tx: Queryable, taskId: string): Promise<{ kind: string; at: number } | null> {
  await tx.run(lockTaskRow(taskId))
  const [task] = await tx.run(dutyLost(taskId))
  if (!task) return null
  const { projectId, version, definition, resumeAt, skipUntil, skippedTo, createdAt, kind } = task
  // A chain's occurrences follow no clock: the last that was to be skipped stands for those before it.
  const at =
    kind === 'resume'
      ? resumeAt
      : definition.schedule.type === 'delay'
        ? skipUntil
        : nextOccurrence(planOf(definition), skippedTo ?? createdAt)
  if (at === null || (skipUntil !== null && kind === 'skip' && at > skipUntil)) {
    await tx.run(clearSkip(taskId))
    return null
  }
  await tx.run(insertDuty({ runId: uuidv7(), taskId, projectId, shard: shardOf(taskId), at, version, kind }))
  const what = kind === 'resume' ? 'ends the pause of the task' : 'skips occurrences of the task'
  const detail = `The row that ${what} was missing and was restored for ${new Date(at).toISOString()}.`
  const found = { id: uuidv7(), projectId, taskId, runId: null, isRepaired: true, missed: 0, detail }
  await tx.run(insertFindings([{ ...found, kind: `${kind}_row_lost` as const }]))
  return { kind, at }
}
