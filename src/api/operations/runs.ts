import { Refusal } from '../../core/errors.ts'
import { shardOf, uuidTime, uuidv7 } from '../../core/ids.ts'
import { type AttemptRow, earlierAttempts } from '../../store/attempts.ts'
import { type RunRow, runById } from '../../store/runs.ts'
import { cancelRuns, lockRuns, lockTask } from '../../store/task-changes.ts'
import type { Context } from './context.ts'
import { changing } from './settle.ts'

/** A run, and its ended attempts in order. */
export interface RunWithAttempts {
  readonly run: RunRow
  readonly attempts: readonly AttemptRow[]
}

export async function getRun(context: Context, id: string): Promise<RunWithAttempts> {
  // A run id made by a node whose clock was far ahead seems to come from after the run's end.
  const found = (await findRun(context, id, uuidTime(id))) ?? (await findRun(context, id, 0))
  if (!found) throw new Refusal('not_found', `There is no run ${id}.`)
  return found
}

async function findRun(
  { db, projectId }: Context,
  id: string,
  madeAt: number,
): Promise<RunWithAttempts | undefined> {
  const [run] = await db.run(runById({ projectId, id, madeAt }))
  if (!run) return undefined
  const { scheduledFor } = run
  const earlier = await db.run(earlierAttempts({ runId: id, scheduledFor, madeAt }))
  return { run, attempts: [...earlier, ...lastAttempt(run)] }
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

/** Ends a run that waits, or tells the worker that has it to stop. The chain of a `delay` task goes on. */
export async function cancelRun(context: Context, id: string): Promise<RunWithAttempts> {
  const { db, wakeUps, projectId } = context
  const { run } = await getRun(context, id)
  const { taskId } = run
  const cancelled =
    run.endedAt !== null
      ? []
      : await changing(db, async (tx) => {
          await tx.run(lockTask(projectId, taskId))
          await tx.run(lockRuns({ taskId, runId: id }))
          return tx.run(cancelRuns({ taskId, runId: id, heirId: uuidv7() }))
        })
  if (cancelled.length === 0) {
    const { run: ended } = await getRun(context, id)
    throw new Refusal('run_ended', `Run ${id} has already ended: it is ${ended.state}.`)
  }
  const shard = shardOf(taskId)
  wakeUps.announceDue(cancelled.flatMap(({ heirAt }) => (heirAt === null ? [] : [{ shard, at: heirAt }])))
  if (cancelled.some(({ wasRunning }) => wasRunning)) wakeUps.announceCancel()
  return getRun(context, id)
}
