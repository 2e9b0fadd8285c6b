/** Performs an action on many tasks, a few at a time. A refusal for one task does not stop the others. */
import { ApiError, type ChangeOptions } from '../../api/client.ts'
import { triggerTask } from '../../api/runs.ts'
import { dropTask, patchTask } from '../../api/task-cache.ts'
import { deleteTask, pauseTask, resumeTask } from '../../api/tasks.ts'
import type { Task } from '../../api/wire.ts'
import { earlierPause } from '../../components/task-acts.tsx'

export const BULK_ACTS = ['run', 'pause', 'resume', 'delete'] as const
export type BulkAct = (typeof BULK_ACTS)[number]

/** Maximum number of concurrent requests, so that the server stays available to others. */
const AT_ONCE = 4

const DO: Readonly<Record<BulkAct, (task: Task, options: ChangeOptions) => Promise<unknown>>> = {
  run: ({ id }, options) => triggerTask(id, undefined, options),
  pause: async (task, options) => {
    // Undoing the resumption of a paused task pauses it again.
    const words = task.state === 'paused' ? earlierPause(task) : options
    if (words !== null) patchTask(await pauseTask(task.id, words))
  },
  resume: async ({ id }, options) => patchTask(await resumeTask(id, options)),
  delete: async ({ id }, options) => {
    await deleteTask(id, options)
    dropTask(id)
  },
}

/** The tasks to which the action applies. */
export function concerned(act: BulkAct, tasks: readonly Task[]): readonly Task[] {
  const isOver = (task: Task) => task.state === 'finished' || task.state === 'cancelled'
  if (act === 'pause') return tasks.filter((task) => task.state !== 'paused' && !isOver(task))
  if (act === 'resume') return tasks.filter((task) => task.state === 'paused')
  return act === 'run' ? tasks.filter((task) => task.state !== 'cancelled') : tasks
}

export interface BulkResult {
  readonly done: readonly Task[]
  /** Refused tasks and the reasons. */
  readonly refused: readonly { readonly task: Task; readonly reason: string }[]
  /** Number of tasks that were not processed because the user stopped the action. */
  readonly left: number
}

interface BulkOptions extends ChangeOptions {
  readonly onProgress?: (count: number) => void
  /** Stops before the next task; completed changes stay. */
  readonly signal?: AbortSignal
}

export async function doToAll(
  act: BulkAct,
  tasks: readonly Task[],
  { onProgress, signal, ...options }: BulkOptions = {},
): Promise<BulkResult> {
  const done: Task[] = []
  const refused: { task: Task; reason: string }[] = []
  let next = 0
  const work = async () => {
    for (let task = tasks[next++]; task && !signal?.aborted; task = tasks[next++]) {
      try {
        await DO[act](task, options)
        done.push(task)
      } catch (error) {
        refused.push({ task, reason: error instanceof ApiError ? error.problem.detail : String(error) })
      }
      onProgress?.(done.length + refused.length)
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work))
  return { done, refused, left: tasks.length - done.length - refused.length }
}
