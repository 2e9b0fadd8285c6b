/** What can be done to a task from wherever it is shown. */
import { Link } from '@tanstack/react-router'
import { queryClient } from '../api/query-client.ts'
import { runKeys, triggerTask } from '../api/runs.ts'
import { patchTask } from '../api/task-cache.ts'
import { pauseTask, resumeTask, taskKeys } from '../api/tasks.ts'
import type { Run, Task } from '../api/wire.ts'
import { tell, tellFailure } from './toast.tsx'

export const titleOf = ({ name, key, id }: Pick<Task, 'name' | 'key' | 'id'>): string =>
  name ?? key ?? id.slice(0, 13)

/** Neither paused nor over: it fires by itself. */
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

/** Says that a task runs now, with the way to the run. */
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

/** Pausing and resuming are each other's undo. */
export async function togglePause(task: Task): Promise<void> {
  const isPaused = task.state === 'paused'
  const change = async (pause: boolean) => {
    patchTask(await (pause ? pauseTask : resumeTask)(task.id))
    refresh(task.id)
  }
  try {
    await change(!isPaused)
    tell({ text: `${titleOf(task)} was ${isPaused ? 'resumed' : 'paused'}.`, undo: () => change(isPaused) })
  } catch (error) {
    tellFailure(error)
  }
}

function refresh(taskId: string): void {
  void queryClient.invalidateQueries({ queryKey: taskKeys.one(taskId) })
  void queryClient.invalidateQueries({ queryKey: runKeys.ofTask(taskId) })
}
