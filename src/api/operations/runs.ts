import { Refusal } from '../../core/errors.ts'
import { shardOf, uuidTime, uuidv7 } from '../../core/ids.ts'
import { laneOf } from '../../core/lane.ts'
import { type AttemptRow, earlierAttempts, type RunRow, runById } from '../../store/runs.ts'
import { cancelRuns, insertManual } from '../../store/task-changes.ts'
import { rememberAnswer } from '../../store/tasks.ts'
import { presentRun } from '../present.ts'
import type { Context } from './context.ts'
import { type Answer, type Repeatable, replay } from './idempotency.ts'
import { getTask } from './read-tasks.ts'

/** Puts a run of the task on the agenda, due now, whatever its schedule says and also while it is paused. */
export async function triggerTask(
  context: Context,
  taskId: string,
  repeat: Repeatable | null,
): Promise<Answer> {
  const { db, clock, projectId, wakeUps } = context
  if (repeat) {
    const known = await replay(context, repeat)
    if (known) return known
  }
  const task = await getTask(context, taskId)
  if (task.cancelledAt !== null)
    throw new Refusal('task_ended', `Task ${taskId} was cancelled. Create a new one.`)
  const at = Math.floor(clock.now())
  const runId = uuidv7()
  const body = presentRun(pendingRun({ id: runId, taskId, at, version: task.version }))
  const shard = shardOf(taskId)
  const exclusive = task.definition.overlap === 'skip'
  const isNew = await db
    .transaction(async (tx) => {
      const [result] = await tx.run(
        insertManual({ runId, taskId, projectId, shard, at, version: task.version, lane: laneOf(task.definition), exclusive }),
      )
      if (!result?.inserted) {
        throw new Refusal(
          'run_active',
          `Run ${result?.blocker} of this task is still active, and the task's overlap policy is skip.`,
          {
            extra: { runId: result?.blocker ?? null },
          },
        )
      }
      if (!repeat) return true
      const [remembered] = await tx.run(rememberAnswer(projectId, { ...repeat, status: 201, answer: body }))
      if (!remembered) throw new AnsweredMeanwhile()
      return true
    })
    .catch((error: unknown) => {
      if (error instanceof AnsweredMeanwhile) return false
      throw error
    })
  if (!isNew && repeat) {
    const answer = await replay(context, repeat)
    if (answer) return answer
  }
  wakeUps.announceDue([{ shard, at }])
  return { status: 201, body, isReplay: false }
}

/** Another request with the same key was committed first; this one is rolled back. */
class AnsweredMeanwhile extends Error {}

export interface RunWithAttempts {
  readonly run: RunRow
  readonly attempts: readonly AttemptRow[]
}

export async function getRun({ db, projectId }: Context, id: string): Promise<RunWithAttempts> {
  const madeAt = uuidTime(id)
  // A run id made by a node whose clock was far ahead seems to come from after the run's end.
  const [run] = [
    ...(await db.run(runById({ projectId, id, madeAt }))),
    ...(await db.run(runById({ projectId, id, madeAt: 0 }))),
  ]
  if (!run) throw new Refusal('not_found', `There is no run ${id}.`)
  const attempts = await db.run(earlierAttempts({ runId: id, madeAt }))
  return { run, attempts: [...attempts, ...lastAttempt(run)] }
}

/** The attempt that the run itself tells of, once it has ended. */
function lastAttempt(run: RunRow): AttemptRow[] {
  if (run.outcome === null || run.endedAt === null) return []
  const { id: runId, outcome, scheduledFor, startedAt, endedAt, workerId, fence, output, error } = run
  return [
    {
      runId,
      number: run.attempt,
      outcome,
      isFinal: run.state === 'permanently_failed',
      scheduledFor,
      startedAt,
      endedAt,
      workerId,
      fence,
      output,
      error,
    },
  ]
}

export async function cancelRun(context: Context, id: string): Promise<RunWithAttempts> {
  const { db, wakeUps } = context
  const { run } = await getRun(context, id)
  if (run.endedAt !== null) throw new Refusal('run_ended', `Run ${id} has already ended: ${run.state}.`)
  const cancelled = await db.run(cancelRuns({ taskId: run.taskId, runId: id, heirId: uuidv7() }))
  const shard = shardOf(run.taskId)
  wakeUps.announceDue(cancelled.flatMap(({ heirAt }) => (heirAt === null ? [] : [{ shard, at: heirAt }])))
  if (cancelled.some(({ wasRunning }) => wasRunning)) wakeUps.announceCancel()
  return getRun(context, id)
}

function pendingRun({
  id,
  taskId,
  at,
  version,
}: {
  id: string
  taskId: string
  at: number
  version: number
}): RunRow {
  return {
    id,
    taskId,
    version,
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
