/** Asks for confirmation of a bulk action, with its consequences in numbers and the equivalent commands. */
import { Button } from '@mantine/core'
import { useRef, useState } from 'react'
import { formatCount } from '../../../src/core/words/time.ts'
import type { ChangeOptions } from '../../api/client.ts'
import { MOST_MATCHED } from '../../api/tasks.ts'
import type { Task } from '../../api/wire.ts'
import { counted } from '../../components/count-words.ts'
import classes from '../../components/delete-task.module.css'
import { Dialog } from '../../components/dialog.tsx'
import { CodeBlock } from '../../components/panel.tsx'
import { shellLine } from '../../components/shell.ts'
import { titleOf } from '../../components/task-acts.tsx'
import { ReasonField } from '../../components/text-field.tsx'
import { given } from '../../components/typed.ts'
import { type BulkAct, type BulkResult, doToAll } from './bulk-acts.ts'
import { bulkEffects } from './bulk-effects.ts'

const SHOWN_NAMES = 10
const SHOWN_COMMANDS = 5

export const tasksWord = (count: number): string => (count === 1 ? 'one task' : `${formatCount(count)} tasks`)

const WORDS: Readonly<Record<BulkAct, { title: (count: string) => string; act: string; not: string }>> = {
  run: { title: (count) => `Run ${count} now?`, act: 'Run now', not: 'Cancel' },
  pause: { title: (count) => `Pause ${count}?`, act: 'Pause', not: 'Cancel' },
  resume: { title: (count) => `Resume ${count}?`, act: 'Resume', not: 'Cancel' },
  delete: { title: (count) => `Delete ${count}?`, act: 'Delete', not: 'Cancel' },
}

interface BulkQuestionProps {
  readonly act: BulkAct
  readonly tasks: readonly Task[]
  /** Number of selected tasks to which the action does not apply. */
  readonly leftOut: number
  /** Whether more tasks match than one bulk action takes. */
  readonly isCut: boolean
  readonly onClose: () => void
  readonly onDone: (result: BulkResult) => void
}

export function BulkQuestion({ act, tasks, leftOut, isCut, onClose, onDone }: BulkQuestionProps) {
  const [typed, setTyped] = useState('')
  const [progress, setProgress] = useState<number | null>(null)
  const stop = useRef(new AbortController())
  const words = WORDS[act]
  const isGoing = progress !== null
  const options = given('reason', typed)
  const go = async () => {
    setProgress(0)
    onDone(await doToAll(act, tasks, { ...options, onProgress: setProgress, signal: stop.current.signal }))
  }
  return (
    <Dialog title={words.title(tasksWord(tasks.length))} onClose={() => !isGoing && onClose()}>
      <div className={classes.body}>
        <ReasonField value={typed} onText={setTyped} />
        <ul className={classes.effects}>
          {bulkEffects(act, tasks).map((line) => (
            <li key={line}>{line}</li>
          ))}
          {leftOut > 0 && <li>{counted(leftOut, 'selected task is', 'selected tasks are')} not affected.</li>}
          {isCut && (
            <li>
              More than {formatCount(MOST_MATCHED)} tasks match. Only the newest are selected; the others are
              not affected.
            </li>
          )}
          <li>{names(tasks)}</li>
        </ul>
        <CodeBlock label="Equivalent commands" text={commands(act, tasks, options)} />
        {isGoing && (
          <progress
            className={classes.progress}
            value={progress}
            max={tasks.length}
            aria-label={`${progress} of ${tasks.length} done`}
          />
        )}
        <div className={classes.buttons}>
          <Button
            variant="default"
            onClick={() => (isGoing ? stop.current.abort() : onClose())}
            data-autofocus
          >
            {isGoing ? 'Stop' : words.not}
          </Button>
          <Button
            {...(act === 'delete' ? { color: 'red.9' } : {})}
            disabled={isGoing}
            onClick={() => void go()}
          >
            {isGoing ? `${formatCount(progress)} of ${formatCount(tasks.length)}` : words.act}
          </Button>
        </div>
      </div>
    </Dialog>
  )
}

function names(tasks: readonly Task[]): string {
  const rest = tasks.length - SHOWN_NAMES
  return `${tasks.slice(0, SHOWN_NAMES).map(titleOf).join(', ')}${rest > 0 ? ` and ${formatCount(rest)} more` : ''}`
}

function commands(act: BulkAct, tasks: readonly Task[], { reason }: ChangeOptions): string {
  const flags = [act === 'delete' ? ['--yes'] : [], reason === undefined ? [] : ['--reason', reason]]
  const lines = tasks
    .slice(0, SHOWN_COMMANDS)
    .map(({ id }) => shellLine([['belfry', 'task', act, id], ...flags]))
  const rest = tasks.length - lines.length
  return [...lines, ...(rest > 0 ? [`# and ${formatCount(rest)} more`] : [])].join('\n')
}
