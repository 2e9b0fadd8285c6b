/**
 * Actions for all selected tasks. Actions that can be undone are performed at once; for others the consequences are shown
 * first.
 */
import { Button } from '@mantine/core'
import { useState } from 'react'
import { formatCount } from '../../../src/core/words/time.ts'
import type { TaskFilter } from '../../api/tasks.ts'
import { tell } from '../../components/toast.tsx'
import { type BulkAct, type BulkResult, concerned, doToAll } from './bulk-acts.ts'
import classes from './bulk-bar.module.css'
import { BulkQuestion, tasksWord } from './bulk-question.tsx'
import { SelectMatching } from './select-matching.tsx'
import { type Selection, selectedWords } from './selection.ts'

/** Up to this many tasks are paused or resumed without confirmation, because that can be undone. */
const FEW = 100

const DONE: Readonly<Record<BulkAct, (count: string) => string>> = {
  run: (count) => `${count} triggered.`,
  pause: (count) => `${count} paused.`,
  resume: (count) => `${count} resumed.`,
  delete: (count) => `${count} deleted.`,
}
const UNDO: Partial<Readonly<Record<BulkAct, BulkAct>>> = { pause: 'resume', resume: 'pause' }

function tellResult(act: BulkAct, { done, refused, left }: BulkResult): void {
  const undo = UNDO[act]
  const [first] = refused
  const rest = first === undefined ? '' : ` ${formatCount(refused.length)} failed: ${first.reason}`
  const stopped = left === 0 ? '' : ` Stopped: ${formatCount(left)} not changed.`
  tell({
    text: `${capital(DONE[act](tasksWord(done.length)))}${rest}${stopped}`,
    ...(undo && done.length > 0 ? { undo: () => doToAll(undo, done) } : {}),
  })
}

const capital = (text: string) => text.replace(/^[a-z]/, (letter) => letter.toUpperCase())

interface BulkBarProps {
  readonly selection: Selection
  readonly filter: TaskFilter
  /** Whether the list continues beyond the shown rows. */
  readonly hasMore: boolean
}

export function BulkBar({ selection, filter, hasMore }: BulkBarProps) {
  const [asking, setAsking] = useState<BulkAct | null>(null)
  const [isBusy, setBusy] = useState(false)
  const { tasks } = selection
  if (tasks.length === 0) return null
  const begin = async (act: BulkAct) => {
    const some = concerned(act, tasks)
    if (UNDO[act] === undefined || some.length > FEW) return setAsking(act)
    setBusy(true)
    tellResult(act, await doToAll(act, some))
    setBusy(false)
  }
  const button = (act: BulkAct, label: string) => (
    <Button
      size="xs"
      variant="default"
      disabled={isBusy || concerned(act, tasks).length === 0}
      onClick={() => void begin(act)}
    >
      {label}
    </Button>
  )
  return (
    <section className={classes.bar} aria-label="Actions for the selected tasks">
      <strong role="status">{selectedWords(tasks.length, selection.reach)}</strong>
      {button('run', 'Run now…')}
      {button('pause', tasks.length > FEW ? 'Pause…' : 'Pause')}
      {button('resume', tasks.length > FEW ? 'Resume…' : 'Resume')}
      {button('delete', 'Delete…')}
      <Button size="xs" variant="subtle" onClick={() => selection.set([])}>
        Clear selection
      </Button>
      {hasMore && selection.reach === 'some' && <SelectMatching filter={filter} onFound={selection.setAll} />}
      {asking && (
        <BulkQuestion
          act={asking}
          tasks={concerned(asking, tasks)}
          leftOut={tasks.length - concerned(asking, tasks).length}
          isCut={selection.reach === 'newest'}
          onClose={() => setAsking(null)}
          onDone={(result) => {
            setAsking(null)
            selection.set([])
            tellResult(asking, result)
          }}
        />
      )}
    </section>
  )
}
