import { Refusal } from '../../core/errors.ts'
import { shardOf, uuidTime, uuidv7 } from '../../core/ids.ts'
import { isLiveState } from '../../core/run/run.ts'
import { applyOverride, type RunOverride } from '../../core/run/run-override.ts'
import type { TaskDefinition } from '../../core/task/task.ts'
import { backfillOfRun } from '../../store/backfills/backfill-runs.ts'
import { withDeadlockRetry } from '../../store/database/retry-on-deadlock.ts'
import { type AttemptRow, earlierAttempts } from '../../store/history/attempts.ts'
import { settleDeadLetters } from '../../store/history/dead-letters.ts'
import type { RunPosition } from '../../store/history/run-search.ts'
import { type RunRow, retriesOf, runById } from '../../store/history/runs.ts'
import { type AttemptProgress, progressOf } from '../../store/nodes/remote-runs.ts'
import { cancelRuns, lockRuns, wakeHeld } from '../../store/tasks/cancel.ts'
import { lockTask } from '../../store/tasks/locked-task.ts'
import { readWholeDefinitions } from '../../store/tasks/read-definitions.ts'
import { readOverrides } from '../../store/tasks/run-overrides.ts'
import type { DueHint } from '../../transport/wake-ups.ts'
import { requireQueue } from '../access/require.ts'
import { recordChange } from '../audit-log/record-change.ts'
import type { Context } from '../context.ts'
import type { Answer } from '../idempotency.ts'
import { triggerTask, type WantedRun } from './trigger-task.ts'

/** A run with its effective action, its ended attempts in order, and the runs that repeat it. */
export interface RunWithAttempts {
  readonly run: RunRow
  /** The override of its task; null if there is none. */
  readonly override: RunOverride | null
  readonly action: TaskDefinition['action'] | null
  /** The backfill that the run belongs to. */
  readonly backfillId: string | null
  readonly attempts: readonly AttemptRow[]
  readonly retriedAs: readonly string[]
  /** The progress that the attempt in progress reports. */
  readonly progress: (AttemptProgress & { readonly at: number }) | null
}

const MAX_RETRIES_SHOWN = 20

export async function getRun(context: Context, id: string): Promise<RunWithAttempts> {
  // A run id made by a node whose clock was far ahead seems to come from after the run's end.
  const found = (await findRun(context, id, uuidTime(id))) ?? (await findRun(context, id, 0))
  if (!found) throw new Refusal('not_found', `Run ${id} does not exist.`)
  return found
}

async function findRun(context: Context, id: string, madeAt: number): Promise<RunWithAttempts | undefined> {
  const { db, projectId } = context
  const [run] = await db.run(runById({ projectId, id, madeAt }))
  if (!run) return undefined
  const { scheduledFor } = run
  const earlier = await db.run(earlierAttempts({ runId: id, scheduledFor, madeAt }))
  const retries = await db.run(retriesOf({ runId: id, limit: MAX_RETRIES_SHOWN }))
  const [progress] = run.state === 'running' ? await db.run(progressOf({ runId: id, fence: run.fence })) : []
  return {
    run,
    ...(await performedAs(context, run)),
    backfillId: await backfillIdOf(context, run),
    attempts: [...earlier, ...lastAttempt(run)],
    retriedAs: retries.map((retry) => retry.id),
    progress: progress ?? null,
  }
}

/** Returns the action that the run performs: that of its version of the task, with the override of the trigger. */
async function performedAs(
  { db }: Context,
  { id, kind, taskId, version }: RunRow,
): Promise<Pick<RunWithAttempts, 'override' | 'action'>> {
  const [overridden] = kind === 'manual' ? await db.run(readOverrides([id])) : []
  const override = overridden?.override ?? null
  const [known] = await db.run(readWholeDefinitions([{ taskId, version }]))
  const definition = known?.definition ?? null
  const performed = definition && override ? applyOverride(definition, override) : definition
  return { override, action: performed?.action ?? null }
}

async function backfillIdOf({ db }: Context, { id: runId, kind, taskId }: RunRow): Promise<string | null> {
  const [backfill] = kind === 'backfill' ? await db.run(backfillOfRun({ runId, taskId })) : []
  return backfill?.id ?? null
}

/** Returns the run's latest attempt, which is stored in the run itself, once it has ended. */
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

/** A run to repeat, and how to present the new run. */
export interface RetryRequest extends Pick<WantedRun, 'repeat' | 'present'> {
  readonly id: string
}

/** Repeats a run that has ended, as a new run of its task, with the same override. */
export async function retryRun(context: Context, { id, repeat, present }: RetryRequest): Promise<Answer> {
  const found = await getRun(context, id)
  if (isLiveState(found.run.state)) throw stillActive(found.run)
  return repeatRun(context, found, {
    repeat,
    present,
    within: async (tx) => {
      const { state, endedAt } = found.run
      if (state === 'permanently_failed' && endedAt !== null)
        await tx.run(settleDeadLetters({ letters: [{ id, us: endedAt * 1_000 }], how: 'redriven' }))
    },
  })
}

/** The dead letter was settled already. */
export class AlreadySettled extends Error {}

/** Repeats a dead letter, unless it was settled already. */
export async function redriveRun(context: Context, letter: RunPosition): Promise<void> {
  const found = await getRun(context, letter.id)
  await repeatRun(context, found, {
    repeat: null,
    present: () => null,
    isRecorded: false,
    within: async (tx) => {
      const settled = await tx.run(settleDeadLetters({ letters: [letter], how: 'redriven' }))
      if (settled.length === 0) throw new AlreadySettled()
    },
  })
}

async function repeatRun(
  context: Context,
  { run: { id, taskId }, override }: RunWithAttempts,
  how: Pick<WantedRun, 'repeat' | 'present' | 'within' | 'isRecorded'>,
): Promise<Answer> {
  try {
    return await triggerTask(context, { taskId, override, retryOf: id, ...how })
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    if (error.code === 'not_found')
      throw new Refusal('task_ended', `Run ${id} cannot be rerun because its task was deleted.`)
    if (error.code === 'invalid_input') throw noLongerFits(id, error)
    throw error
  }
}

/** The task has changed since, and the run's override does not apply to it any more. */
function noLongerFits(id: string, { problems, message }: Refusal): Refusal {
  const detail = `The override of run ${id} no longer fits the task: ${message}`
  return new Refusal('override_outdated', detail, { problems })
}

function stillActive({ id, state }: RunRow): Refusal {
  const message = `Run ${id} is still ${state}. Wait until it ends, or cancel it with POST /v1/runs/${id}/cancel.`
  return new Refusal('run_active', message, { extra: { runId: id, state } })
}

/** Cancels a waiting run, or requests the worker of a running one to stop. The chain of a `delay` task continues. */
export async function cancelRun(context: Context, id: string): Promise<RunWithAttempts> {
  const { db, wakeUps, projectId } = context
  const { run } = await getRun(context, id)
  const { taskId } = run
  const woken: DueHint[] = []
  const cancelled =
    run.endedAt !== null
      ? []
      : await withDeadlockRetry(db, async (tx) => {
          const [task] = await tx.run(lockTask(projectId, taskId))
          if (task) requireQueue(context, task.definition.queue)
          await tx.run(lockRuns({ taskId, runId: id }))
          const runs = await tx.run(cancelRuns({ taskId, runId: id, nextRunId: uuidv7() }))
          if (runs.length > 0)
            await recordChange(tx, context, {
              action: 'run.cancel',
              subject: { kind: 'run', id, name: run.taskName },
              before: { taskId, state: run.state },
              after: { taskId, state: 'cancelled' },
            })
          woken.push(...(runs.some(({ wasRunning }) => !wasRunning) ? await tx.run(wakeHeld(taskId)) : []))
          return runs
        })
  if (cancelled.length === 0) {
    const { run: ended } = await getRun(context, id)
    throw new Refusal('run_ended', `Run ${id} has already ended with the state ${ended.state}.`, {
      extra: { runId: id },
    })
  }
  const shard = shardOf(taskId)
  const following = cancelled.flatMap(({ nextAt }) => (nextAt === null ? [] : [{ shard, at: nextAt }]))
  wakeUps.announceDue([...following, ...woken])
  if (cancelled.some(({ wasRunning }) => wasRunning)) wakeUps.announceCancel()
  return getRun(context, id)
}
