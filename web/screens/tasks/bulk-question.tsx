/** Asks before the same is done to many: says in numbers what follows from it, with the commands that do the same. */
import { Button } from '@mantine/core'
import { useState } from 'react'
import { formatCount } from '../../../src/core/words/time.ts'
import type { Task } from '../../api/wire.ts'
import classes from '../../components/delete-task.module.css'
import { Dialog } from '../../components/dialog.tsx'
import { CodeBlock } from '../../components/panel.tsx'
import { titleOf } from '../../components/task-acts.tsx'
import { type BulkResult, doToAll } from './bulk-acts.ts'

const SHOWN_NAMES = 5
const SHOWN_COMMANDS = 5

interface BulkQuestionProps {
  readonly act: 'run' | 'delete'
  readonly tasks: readonly Task[]
  readonly onClose: () => void
  readonly onDone: (result: BulkResult) => void
}

export function BulkQuestion({ act, tasks, onClose, onDone }: BulkQuestionProps) {
  const [progress, setProgress] = useState<number | null>(null)
  const count = tasks.length === 1 ? 'one task' : `${formatCount(tasks.length)} tasks`
  const go = async () => {
    setProgress(0)
    onDone(await doToAll(act, tasks, setProgress))
  }
  return (
    <Dialog title={act === 'run' ? `Run ${count} now?` : `Delete ${count}?`} onClose={onClose}>
      <div className={classes.body}>
        <ul className={classes.effects}>
          {effects(act, tasks).map((line) => (
            <li key={line}>{line}</li>
          ))}
          <li>{names(tasks)}</li>
        </ul>
        <CodeBlock label="The same in a terminal" text={commands(act, tasks)} />
        <div className={classes.buttons}>
          <Button variant="default" onClick={onClose} disabled={progress !== null} data-autofocus>
            {act === 'run' ? 'Do not run them' : 'Keep them'}
          </Button>
          <Button
            {...(act === 'delete' ? { color: 'red.9' } : {})}
            disabled={progress !== null}
            onClick={() => void go()}
          >
            {progress === null ? (act === 'run' ? 'Run now' : 'Delete') : `${progress} of ${tasks.length}`}
          </Button>
        </div>
      </div>
    </Dialog>
  )
}

function effects(act: 'run' | 'delete', tasks: readonly Task[]): string[] {
  const active = tasks.filter(({ openRun }) => openRun !== null).length
  if (act === 'delete')
    return [
      'They do not fire any more. What has run stays in the history. This cannot be undone.',
      active === 0
        ? 'None of their runs is active now.'
        : `${formatCount(active)} active runs are cancelled.`,
    ]
  const blocked = tasks.filter(({ openRun, overlap }) => openRun !== null && overlap === 'skip').length
  return [
    `${formatCount(tasks.length - blocked)} runs start at once, beside what their schedules do.`,
    ...(blocked === 0
      ? []
      : [`${formatCount(blocked)} are refused: a run of theirs is active, and their policy is skip.`]),
  ]
}

function names(tasks: readonly Task[]): string {
  const rest = tasks.length - SHOWN_NAMES
  return `${tasks.slice(0, SHOWN_NAMES).map(titleOf).join(', ')}${rest > 0 ? ` and ${formatCount(rest)} more` : ''}`
}

function commands(act: 'run' | 'delete', tasks: readonly Task[]): string {
  const lines = tasks
    .slice(0, SHOWN_COMMANDS)
    .map(({ id }) => `belfry task ${act} ${id}${act === 'delete' ? ' --yes' : ''}`)
  const rest = tasks.length - lines.length
  return [...lines, ...(rest > 0 ? [`# and ${formatCount(rest)} more`] : [])].join('\n')
}
