/** Tasks that are paused when they are made, by whoever makes them or because they wait for files. */
import type { FirstPause, NewTask } from '../../store/tasks/insert-tasks.ts'

/** A new task that begins with a pause instead of its first row. */
export function pausedFromStart(
  task: NewTask,
  { reason, awaitsFiles }: Pick<FirstPause, 'reason' | 'awaitsFiles'>,
): NewTask {
  const { createdAt, first } = task
  // An occurrence at the very instant of the creation is the first that is passed over.
  const recordedUntil = first?.at === createdAt ? createdAt - 1 : createdAt
  return { ...task, first: null, pause: { reason, awaitsFiles, recordedUntil } }
}
