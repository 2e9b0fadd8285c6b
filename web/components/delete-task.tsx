/** Asks before a task is ended: says what follows from it first. */
import { Button } from '@mantine/core'
import { useState } from 'react'
import { dropTask } from '../api/task-cache.ts'
import { deleteTask } from '../api/tasks.ts'
import type { Task } from '../api/wire.ts'
import classes from './delete-task.module.css'
import { Dialog } from './dialog.tsx'
import { Failure } from './failure.tsx'
import { Instant } from './instant.tsx'
import { CodeBlock } from './panel.tsx'
import { titleOf } from './task-acts.tsx'
import { tell } from './toast.tsx'

interface DeleteTaskProps {
  readonly task: Task
  readonly onClose: () => void
  readonly onDeleted?: () => void
}

export function DeleteTask({ task, onClose, onDeleted }: DeleteTaskProps) {
  const [error, setError] = useState<unknown>(null)
  const [isBusy, setBusy] = useState(false)
  const remove = async () => {
    setBusy(true)
    try {
      await deleteTask(task.id)
      dropTask(task.id)
      tell({ text: `${titleOf(task)} is deleted.` })
      onClose()
      onDeleted?.()
    } catch (failure) {
      setError(failure)
      setBusy(false)
    }
  }
  return (
    <Dialog title={`Delete ${titleOf(task)}?`} onClose={onClose}>
      <div className={classes.body}>
        <ul className={classes.effects}>
          {task.nextFireAt && (
            <li>
              It does not fire any more; next would have been{' '}
              <Instant at={task.nextFireAt} zone={task.timezone} />.
            </li>
          )}
          <li>
            {task.openRun ? `Its ${task.openRun.state} run is cancelled.` : 'None of its runs is active now.'}
          </li>
          <li>What has run stays in the history. This cannot be undone.</li>
        </ul>
        <CodeBlock
          label="The same in a terminal"
          text={`belfry task delete ${task.id}\ncurl -X DELETE ${location.origin}/v1/tasks/${task.id}`}
        />
        {error !== null && <Failure error={error} />}
        <div className={classes.buttons}>
          <Button variant="default" onClick={onClose} data-autofocus>
            Keep it
          </Button>
          <Button color="red.9" loading={isBusy} onClick={() => void remove()}>
            Delete
          </Button>
        </div>
      </div>
    </Dialog>
  )
}
