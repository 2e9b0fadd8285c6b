import type { FindingKind } from '../core/finding.ts'
import { shardOf, uuidv7 } from '../core/ids.ts'
import { laneOf } from '../core/lane.ts'
import { delayMs, jitterOf } from '../core/schedule/occurrences.ts'
import { planOf } from '../core/task.ts'
import type { Logger } from '../runtime/logger.ts'
import { Loop } from '../runtime/loop.ts'
import type { Service } from '../runtime/service.ts'
import * as audit from '../store/audit.ts'
import type { Database, Queryable } from '../store/database.ts'
import { insertNext, insertSkip, latestOccurrence } from '../store/task-changes.ts'
import type { WakeUps } from '../transport/wake-ups.ts'
import { type Remedy, remedyFor } from './stalled.ts'

export interface AuditorOptions {
  readonly db: Database
  readonly wakeUps: WakeUps
  readonly log: Logger
}

/** A round over all tasks takes about this long, so that what is lost is found within a minute. */
const ROUND_MS = 40_000
/** Tasks that one slice looks at. */
const SLICE_TASKS = 20_000
/** Tasks that one slice puts back; with more, the next one follows at once. */
const MAX_REPAIRS = 200
const SHORTEST_PAUSE_MS = 20
/** Every node asks this often whether it is its turn. */
const ASK_EVERY_MS = 5_000
/** A live row that has been due for this long is looked at. */
const STRANDED_AFTER_MS = 60_000
const STRANDED_PER_SHARD = 50
/** Characters of a finding. */
const MAX_DETAIL = 500

/**
 * Looks, round after round, whether every task that goes on has its next row and every live row has somebody who will
 * look at it, and puts right what has not. Safe on every node at once: one of them holds the row that says how far the
 * walk has come, and a task is put back only while it is locked and still without a row.
 */
export class Auditor implements Service {
  readonly #options: AuditorOptions
  readonly #loop: Loop
  #positions: readonly audit.ShardPosition[] = audit.ALL_SHARDS

  constructor(options: AuditorOptions) {
    this.#options = options
    const { log } = options
    this.#loop = new Loop({ name: 'audit', everyMs: ASK_EVERY_MS, log, runOnce: () => this.runOnce() })
  }

  start(): void {
    this.#loop.start()
  }

  stop(): Promise<void> {
    return this.#loop.stop()
  }

  /** One slice, if it is time for one; answers how long until the next. */
  async runOnce(): Promise<number> {
    const { db } = this.#options
    const stalled = await db.transaction(async (tx) => {
      const [progress] = await tx.run(audit.holdAudit())
      return progress ? this.#walk(tx, progress) : null
    })
    for (const taskId of stalled?.tasks ?? []) await this.#putBack(taskId)
    if (stalled?.isFirst) await this.#lookAtLiveRows()
    const [next] = await db.run(audit.nextAuditPass())
    return next?.inMs ?? ASK_EVERY_MS
  }

  /** Walks one slice on; answers the tasks in it that have nothing to go on with. */
  async #walk(tx: Queryable, progress: audit.AuditProgress): Promise<{ tasks: string[]; isFirst: boolean }> {
    const { walkedTo, roundTasks, beganAt, now, tasks: walked } = progress
    const [slice] = await tx.run(audit.auditSlice({ after: walkedTo, limit: SLICE_TASKS }))
    const { examined = 0, last = null, unsure = [] } = slice ?? {}
    const found = unsure.length === 0 ? [] : (await tx.run(audit.withoutNextRow(unsure))).map(({ id }) => id)
    const tasks = found.slice(0, MAX_REPAIRS)
    const isFirst = walkedTo === null
    if (found.length > tasks.length) {
      await tx.run(
        audit.saveAudit({ walkedTo: tasks.at(-1) as string, tasks: 0, pauseMs: SHORTEST_PAUSE_MS }),
      )
    } else if (examined < SLICE_TASKS || last === null) {
      const pauseMs = Math.max(SHORTEST_PAUSE_MS, Math.min(ROUND_MS / 2, beganAt + ROUND_MS - now))
      await tx.run(audit.endAuditRound({ tasks: examined, pauseMs }))
    } else {
      const slices = Math.max(
        1,
        Math.ceil((roundTasks ?? 0) / SLICE_TASKS),
        Math.ceil(walked / SLICE_TASKS) + 1,
      )
      await tx.run(audit.saveAudit({ walkedTo: last, tasks: examined, pauseMs: ROUND_MS / 2 / slices }))
    }
    return { tasks, isFirst }
  }

  /** Puts one task back on the agenda, unless it turns out that it owes nothing. */
  async #putBack(taskId: string): Promise<void> {
    const { db, log, wakeUps } = this.#options
    try {
      const done = await db.transaction((tx) => putBack(tx, taskId))
      if (!done) return
      log.warn({ task: taskId, ...done }, 'a task had lost its next row and was put back on the agenda')
      if (done.at !== null) wakeUps.announceDue([{ shard: shardOf(taskId), at: done.at }])
    } catch (error) {
      log.error({ err: error, task: taskId }, 'a task has no next row, and the audit could not put it back')
      const why = error instanceof Error ? error.message : String(error)
      const detail = `The task has no next row, and could not be put back: ${why}`.slice(0, MAX_DETAIL)
      await db.run(audit.noteUnrepaired({ id: uuidv7(), taskId, detail }))
    }
  }

  /** Rows that were due long ago and that nobody will look at are handed to those whose work they are. */
  async #lookAtLiveRows(): Promise<void> {
    const { db, log, wakeUps } = this.#options
    const [look] = await db.run(
      audit.strandedRows({
        positions: this.#positions,
        olderThanMs: STRANDED_AFTER_MS,
        maxPerShard: STRANDED_PER_SHARD,
      }),
    )
    const { rows = [], positions = [] } = look ?? {}
    this.#positions = audit.ALL_SHARDS.map(({ shard }) => {
      const full = positions.find((position) => position.shard === shard)
      return { shard, from: full?.from ?? null }
    })
    const pending = rows.filter(({ state }) => state === 'pending')
    const running = rows.filter(({ state }) => state === 'running')
    const queued =
      pending.length === 0 ? [] : await db.run(audit.requeueStranded(pending.map(({ runId }) => runId)))
    const ids = new Set(queued.map(({ runId }) => runId))
    const requeued = pending.filter(({ runId }) => ids.has(runId))
    const nodes = [...new Set(running.flatMap(({ workerId }) => workerId ?? []))]
    const unburied = new Set(
      nodes.length === 0 ? [] : (await db.run(audit.unburyNodes(nodes))).map(({ id }) => id),
    )
    const findings = [
      ...requeued.map((row) =>
        finding(row, 'ready_row_lost', 'The run waited for a worker where none would find it.'),
      ),
      ...running
        .filter(({ workerId }) => workerId !== null && unburied.has(workerId))
        .map((row) =>
          finding(row, 'held_by_the_dead', 'The run was in the name of a node that is dead and forgotten.'),
        ),
    ]
    if (findings.length === 0) return
    await db.run(audit.insertFindings(findings))
    log.warn({ runs: findings.map(({ runId }) => runId) }, 'runs that nobody would have looked at were found')
    if (requeued.length > 0) wakeUps.announceReady()
  }
}

const finding = (row: audit.StrandedRow, kind: FindingKind, detail: string): audit.Finding => ({
  id: uuidv7(),
  projectId: row.projectId,
  taskId: row.taskId,
  runId: row.runId,
  kind,
  isRepaired: true,
  missed: 0,
  detail,
})

/** What was done about a task that had lost its next row. */
interface PutBack {
  readonly at: number | null
  readonly missed: number
}

/** In one transaction: the task is locked as for an edit, looked at again, and given the row it goes on with. */
async function putBack(tx: Queryable, taskId: string): Promise<PutBack | null> {
  const [task] = await tx.run(audit.lockStalled(taskId))
  const [still] = task ? await tx.run(audit.withoutNextRow([taskId])) : []
  if (!task || !still) return null
  const [latest] = await tx.run(latestOccurrence(taskId))
  const ordinal = Math.max(task.nextOrdinal, latest?.nextOrdinal ?? 1)
  const remedy = remedyFor({ ...task, latest: latest?.until ?? null, ordinal })
  if (remedy.kind === 'settle') {
    await tx.run(audit.settleTask(taskId))
    return null
  }
  const { projectId } = task
  const runId = uuidv7()
  if (remedy.kind === 'unknown') {
    await tx.run(audit.settleTask(taskId))
  } else {
    const { definition, version } = task
    const { lost, at } = remedy
    if (lost)
      await tx.run(
        insertSkip({ runId: uuidv7(), taskId, projectId, version, ordinal, reason: 'lost', ...lost }),
      )
    if (at !== null)
      await tx.run(
        insertNext({
          runId,
          taskId,
          projectId,
          shard: shardOf(taskId),
          at,
          version,
          ordinal,
          delayMs: definition.schedule.type === 'delay' ? delayMs(definition.schedule) : null,
          lane: laneOf(projectId, definition).id,
          priority: definition.priority,
          kind: 'occurrence',
          jitterMs: jitterOf(planOf(definition), at) || null,
        }),
      )
  }
  const missed = remedy.kind === 'go_on' ? (remedy.lost?.count ?? (remedy.lost ? MAX_MISSED_TOLD : 0)) : 0
  await tx.run(
    audit.insertFindings([
      {
        id: uuidv7(),
        projectId,
        taskId,
        runId: remedy.kind === 'go_on' && remedy.at !== null ? runId : null,
        kind: 'next_row_lost',
        isRepaired: remedy.kind === 'go_on',
        missed,
        detail: detailOf(remedy, missed),
      },
    ]),
  )
  return { at: remedy.kind === 'go_on' ? remedy.at : null, missed }
}

/** What is told when the occurrences that were missed were too many to count. */
const MAX_MISSED_TOLD = 10_000

function detailOf(remedy: Remedy, missed: number): string {
  if (remedy.kind !== 'go_on')
    return 'The task has no next row, and whether it owes one was told by history that has been dropped.'
  const next =
    remedy.at === null ? 'nothing more is due' : `it goes on at ${new Date(remedy.at).toISOString()}`
  const lost = missed === 0 ? '' : `, and ${missed} occurrences were recorded as lost`
  return `The row that the task goes on with was gone; ${next}${lost}.`
}
