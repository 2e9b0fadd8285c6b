import type { CreateTask, EditTask } from '../../api/resources/tasks/schemas.ts'
import { Refusal } from '../../core/errors.ts'
import { TASK_DEFAULTS } from '../../core/task/task.ts'
import { findTasks, type TaskRow } from '../../store/tasks/tasks.ts'
import type { Context } from '../context.ts'
import { createTask } from './create-task.ts'
import { editTask } from './edit-task.ts'
import type { ExpectedVersion } from './expected-version.ts'
import { getTask, getTaskByKey } from './read-tasks.ts'

/** A whole task for a key, whether or not there is one yet. */
export interface UpsertRequest {
  readonly key: string
  readonly input: CreateTask
  readonly traceparent: string | null
  readonly expected: ExpectedVersion
  readonly by: string | null
}

/** Creates the task with this key or replaces all of it. One that appears meanwhile is replaced, not doubled. */
export async function upsertTask(
  context: Context,
  request: UpsertRequest,
): Promise<{ row: TaskRow; isNew: boolean }> {
  const { key, input, traceparent, expected, by } = request
  for (let isSecondTry = false; ; isSecondTry = true) {
    const [existing] = await context.db.run(findTasks({ projectId: context.projectId, key, limit: 1 }))
    if (existing) {
      const edit = replacement(input, context.clock.now())
      await editTask(context, { id: existing.id, edit, expected, by })
      return { row: await getTask(context, existing.id), isNew: false }
    }
    if (expected !== null)
      throw new Refusal('version_mismatch', `No task has the key '${key}', so there is nothing to replace.`)
    try {
      await createTask(context, {
        input: { ...input, key },
        traceparent,
        repeat: null,
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
    jitter: null,
    tags: [],
    metadata: {},
    tracingId: TASK_DEFAULTS.tracingId,
    overlap: TASK_DEFAULTS.overlap,
    timeout: TASK_DEFAULTS.timeout,
    onWorkerLoss: TASK_DEFAULTS.onWorkerLoss,
    queue: TASK_DEFAULTS.queue,
    priority: TASK_DEFAULTS.priority,
    labels: [],
    concurrencyKey: TASK_DEFAULTS.concurrencyKey,
    concurrencyLimit: TASK_DEFAULTS.concurrencyLimit,
    ...input,
    misfire: { ...TASK_DEFAULTS.misfire, ...input.misfire },
    retry: { ...TASK_DEFAULTS.retry, ...input.retry },
    schedule: input.schedule ?? {
      type: 'once',
      at: input.startAt ?? new Date(Math.floor(now)).toISOString(),
    },
  }
}
