import { maskedOverride } from '../../core/action/masked-action.ts'
import { Refusal } from '../../core/errors.ts'
import { shardOf, uuidv7 } from '../../core/ids.ts'
import { laneOf } from '../../core/run/lane.ts'
import { applyOverride } from '../../core/run/run-override.ts'
import { type OverlapPolicy, queuedAtMost } from '../../core/task/task.ts'
import type { Queryable } from '../../store/database/database.ts'
import { withDeadlockRetry } from '../../store/database/retry-on-deadlock.ts'
import { insertRetry, type RunRow } from '../../store/history/runs.ts'
import { insertManual } from '../../store/tasks/manual-run.ts'
import { insertOverride } from '../../store/tasks/run-overrides.ts'
import { requireQueue } from '../access/require.ts'
import { recordChange, taskSubject } from '../audit-log/record-change.ts'
import type { Context } from '../context.ts'
import { type Answer, answerOnce, type Repeatable, remember } from '../idempotency.ts'
import { keepLimits, limitsOf } from '../limits/task-limits.ts'
import { lockLiving } from '../tasks/settle.ts'
import { refuseMissingFiles } from '../tasks/task-files.ts'
import { overrideOf, type WantedOverride } from './run-override.ts'

/** A manual run to create. */
export interface WantedRun {
  readonly taskId: string
  /** Overrides of the task for this run. */
  readonly override: WantedOverride | null
  /** The run that it repeats. */
  readonly retryOf: string | null
  readonly repeat: Repeatable | null
  /** Turns the run into the body of the response. */
  readonly present: (row: RunRow) => unknown
  /** Further work of the transaction; it may throw to prevent the run. */
  readonly within?: (tx: Queryable) => Promise<void>
  /** False for a run that is part of a change with its own entry in the audit log. Default: true. */
  readonly isRecorded?: boolean
}

/**
 * Adds a run of the task to the agenda, due now, whatever its schedule is and even while it is paused. The run uses the current
 * definition of the task, even if it repeats a run of an earlier version.
 */
export async function triggerTask(context: Context, wanted: WantedRun): Promise<Answer> {
  const { db, clock, projectId, wakeUps, lanes } = context
  const { taskId, retryOf, repeat } = wanted
  const shard = shardOf(taskId)
  const runId = uuidv7()
  const at = Math.floor(clock.now())
  const limits = wanted.override ? await limitsOf(context) : null
  let noteLane = () => {}
  const answer = await answerOnce(context, repeat, () =>
    withDeadlockRetry(db, async (tx) => {
      const { version, definition, name, key } = await lockLiving(tx, context, taskId)
      const override = wanted.override && overrideOf(definition, wanted.override)
      const performed = override ? applyOverride(definition, override) : definition
      if (limits) keepLimits(performed, limits, { now: at, isRetimed: false })
      requireQueue(context, performed.queue)
      await refuseMissingFiles(tx, projectId, performed.action)
      const body = wanted.present(
        pendingRun({ id: runId, taskId, taskName: name ?? key, retryOf, at, version }),
      )
      if (repeat) await remember(tx, projectId, repeat, { status: 201, body })
      const behindAtMost = queuedAtMost(performed.overlap)
      const lane = laneOf(projectId, performed)
      const { priority } = performed
      const [result] = await tx.run(
        insertManual({ runId, taskId, projectId, shard, at, version, lane: lane.id, priority, behindAtMost }),
      )
      if (!result?.inserted) throw runActive(result?.blocker ?? null, performed.overlap)
      if (override) await tx.run(insertOverride({ runId, override }))
      if (retryOf !== null) await tx.run(insertRetry({ runId, retryOf }))
      await wanted.within?.(tx)
      if (wanted.isRecorded !== false)
        await recordChange(tx, context, {
          ...(retryOf === null
            ? { action: 'task.trigger', subject: taskSubject({ id: taskId, name, key }) }
            : { action: 'run.retry', subject: { kind: 'run', id: retryOf, name: name ?? key } }),
          after: { runId, taskId, ...(override === null ? {} : { override: maskedOverride(override) }) },
        })
      // Last, because the queue and its gate stay locked until the commit.
      noteLane = await lanes.ensureWithin(tx, [lane])
      return { status: 201, body }
    }),
  )
  if (answer.isReplay) return answer
  noteLane()
  wakeUps.announceDue([{ shard, at }])
  return answer
}

function runActive(blocker: string | null, overlap: OverlapPolicy): Refusal {
  const policy = `the task's overlap policy is ${overlap}`
  const message =
    overlap === 'skip'
      ? `Run ${blocker} of this task is still active, and ${policy}.`
      : `Run ${blocker} of this task is already waiting, and ${policy}, which allows at most ${queuedAtMost(overlap)} waiting ${queuedAtMost(overlap) === 1 ? 'run' : 'runs'}.`
  return new Refusal('run_active', message, { extra: { runId: blocker } })
}

interface PendingRun {
  readonly id: string
  readonly taskId: string
  readonly taskName: string | null
  readonly retryOf: string | null
  readonly at: number
  readonly version: number
}

/** Returns a run that was just added to the agenda, in the form in which it would be read. */
function pendingRun({ at, ...run }: PendingRun): RunRow {
  return {
    ...run,
    kind: 'manual',
    state: 'pending',
    scheduledFor: at,
    reason: null,
    startedAt: null,
    endedAt: null,
    retryAt: null,
    coversUntil: null,
    coversCount: null,
    attempt: 0,
    losses: 0,
    fence: 0,
    lateMs: null,
    workerId: null,
    outcome: null,
    output: null,
    error: null,
    cancelRequestedAt: null,
  }
}
