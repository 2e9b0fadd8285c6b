import { Refusal } from '../../core/errors.ts'
import { replacedBy, type TaskCreation, type TaskEdit, type TaskInput } from '../../core/task/task-input.ts'
import { utc } from '../../core/values/utc.ts'
import { findTasks, type TaskRow } from '../../store/tasks/tasks.ts'
import type { Context } from '../context.ts'
import { createTask } from './create-task.ts'
import { editTask } from './edit-task.ts'
import type { ExpectedVersion } from './expected-version.ts'
import { getTask, getTaskByKey } from './read-tasks.ts'

/** A complete task for a key, whether or not the key is in use. */
export interface UpsertRequest {
  readonly key: string
  /** One that is there stays paused, or not, as it is. */
  readonly input: TaskCreation
  readonly traceparent: string | null
  readonly expected: ExpectedVersion
  readonly by: string | null
}

/**
 * Creates the task with this key, or replaces it completely. A task that another request creates meanwhile is replaced, not
 * duplicated.
 */
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

/** Returns an edit that replaces every field. Without a schedule the task runs once, as a new one would. */
function replacement(input: TaskInput, now: number): TaskEdit {
  const at = input.startAt ?? utc(Math.floor(now))
  return { ...replacedBy(input), schedule: input.schedule ?? { type: 'once', at } }
}
