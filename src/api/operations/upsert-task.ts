import { Refusal } from '../../core/errors.ts'
import { TASK_DEFAULTS } from '../../core/task.ts'
import { findTasks, type TaskRow } from '../../store/tasks.ts'
import type { CreateTask, EditTask } from '../schemas/task.ts'
import { editTask } from './change-task.ts'
import type { Context } from './context.ts'
import { createTasks } from './create-tasks.ts'
import { getTask, getTaskByKey } from './read-tasks.ts'

export interface UpsertRequest {
  readonly key: string
  readonly input: CreateTask
  readonly traceparent: string | null
  /** The version the caller believes it replaces. */
  readonly version: number | null
}

/** Creates the task with this key or replaces all of it. One that appears meanwhile is replaced, not doubled. */
export async function upsertTask(
  context: Context,
  request: UpsertRequest,
): Promise<{ row: TaskRow; isNew: boolean }> {
  const { key, input, traceparent, version } = request
  for (let isSecondTry = false; ; isSecondTry = true) {
    const [existing] = await context.db.run(findTasks({ projectId: context.projectId, key, limit: 1 }))
    if (existing) {
      await editTask(context, existing.id, replacement(input, context.clock.now()), version)
      return { row: await getTask(context, existing.id), isNew: false }
    }
    if (version !== null)
      throw new Refusal(
        'version_mismatch',
        `There is no task with the key '${key}' to be at version ${version}.`,
      )
    try {
      await createTasks(context, {
        inputs: [{ ...input, key }],
        traceparent,
        repeat: null,
        pointer: () => '',
        present: () => null,
      })
      return { row: await getTaskByKey(context, key), isNew: true }
    } catch (error) {
      if (isSecondTry || !(error instanceof Refusal) || error.code !== 'key_in_use') throw error
    }
  }
}

/** An edit that leaves nothing as it was: what the input does not name goes back to its default. */
function replacement({ key: _, ...input }: CreateTask, now: number): EditTask {
  return {
    name: null,
    owner: null,
    startAt: null,
    endAt: null,
    maxRuns: null,
    tags: [],
    metadata: {},
    overlap: TASK_DEFAULTS.overlap,
    timeout: TASK_DEFAULTS.timeout,
    onWorkerLoss: TASK_DEFAULTS.onWorkerLoss,
    ...input,
    misfire: { ...TASK_DEFAULTS.misfire, ...input.misfire },
    retry: { ...TASK_DEFAULTS.retry, ...input.retry },
    schedule: input.schedule ?? {
      type: 'once',
      at: input.startAt ?? new Date(Math.floor(now)).toISOString(),
    },
  }
}
