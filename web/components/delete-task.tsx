/** Asks for confirmation before a task is deleted and lists the consequences. */
import type { ChangeOptions } from '../api/client.ts'
import { dropTask } from '../api/task-cache.ts'
import { deleteTask } from '../api/tasks.ts'
import type { Task } from '../api/wire.ts'
import { ActDialog } from './act-dialog.tsx'
import { Instant } from './instant.tsx'
import { titleOf } from './task-acts.tsx'
import { tell } from './toast.tsx'

interface DeleteTaskProps {
  readonly task: Task
  readonly onClose: () => void
  readonly onDeleted?: () => void
}

export function DeleteTask({ task, onClose, onDeleted }: DeleteTaskProps) {
  const remove = async (options: ChangeOptions) => {
    await deleteTask(task.id, options)
    dropTask(task.id)
    tell({ text: `${titleOf(task)} was deleted.` })
    onClose()
    onDeleted?.()
  }
  return (
    <ActDialog
      title={`Delete ${titleOf(task)}?`}
      size="md"
      onClose={onClose}
      effects={[
        ...(task.nextFireAt
          ? [
              <>
                It no longer runs. Its next run would have been{' '}
                <Instant at={task.nextFireAt} zone={task.timezone} />.
              </>,
            ]
          : []),
        task.openRun ? `Its ${task.openRun.state} run will be cancelled.` : 'It has no active runs.',
        'Past runs stay in the history. This cannot be undone.',
      ]}
      twin={{ method: 'DELETE', path: `/v1/tasks/${task.id}` }}
      command={`belfry task delete ${task.id}`}
      button="Delete"
      isHarmful
      act={remove}
    />
  )
}
