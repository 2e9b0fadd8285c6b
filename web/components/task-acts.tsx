/** Actions on a task that several screens offer. */
import { Link } from '@tanstack/react-router'
import { queryClient } from '../api/query-client.ts'
import { runKeys, triggerTask } from '../api/runs.ts'
import { patchTask } from '../api/task-cache.ts'
import { type Pause, pauseTask, resumeTask, taskKeys } from '../api/tasks.ts'
import type { Run, Task } from '../api/wire.ts'
import { serverNow } from '../time/clock.ts'
import { tell, tellFailure } from './toast.tsx'

export const titleOf = ({ name, key, id }: Pick<Task, 'name' | 'key' | 'id'>): string =>
  name ?? key ?? id.slice(0, 13)

/** Whether the task fires by itself: it is neither paused nor ended. */
export const isActive = ({ state }: Task): boolean => !['paused', 'finished', 'cancelled'].includes(state)
export const isOver = ({ state }: Task): boolean => state === 'finished' || state === 'cancelled'

export async function runNow(task: Task): Promise<Run | null> {
  try {
    const run = await triggerTask(task.id)
    refresh(task.id)
    tellRun(task, run)
    return run
  } catch (error) {
    tellFailure(error)
    return null
  }
}

/** Confirms that a task was started, with a link to the run. */
export function tellRun(task: Task, run: Run): void {
  tell({
    text: (
      <>
        {titleOf(task)} was triggered.{' '}
        <Link to="/runs/$runId" params={{ runId: run.id }}>
          View run
        </Link>
      </>
    ),
  })
}

/** The pause that a task was in, with its reason and end, for restoring it; null if it would have ended by now. */
export const earlierPause = ({ pauseReason, resumeAt }: Task): Pause | null =>
  resumeAt !== null && Date.parse(resumeAt) <= serverNow() ? null : { reason: pauseReason, until: resumeAt }

/** Pausing and resuming undo each other. */
export async function togglePause(task: Task): Promise<void> {
  const isPaused = task.state === 'paused'
  const pause = async (words?: Pause) => change(await pauseTask(task.id, words))
  const resume = async () => change(await resumeTask(task.id))
  const change = (changed: Task) => {
    patchTask(changed)
    refresh(task.id)
  }
  const pauseAgain = async () => {
    const words = earlierPause(task)
    if (words) await pause(words)
  }
  try {
    await (isPaused ? resume() : pause())
    tell({
      text: `${titleOf(task)} was ${isPaused ? 'resumed' : 'paused'}.`,
      undo: isPaused ? pauseAgain : resume,
    })
  } catch (error) {
    tellFailure(error)
  }
}

function refresh(taskId: string): void {
  void queryClient.invalidateQueries({ queryKey: taskKeys.one(taskId) })
  void queryClient.invalidateQueries({ queryKey: runKeys.ofTask(taskId) })
}
