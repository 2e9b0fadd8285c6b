/** What can be done to all that is chosen. What can be taken back is done at once; the rest says first what follows. */
import { Button } from '@mantine/core'
import { useState } from 'react'
import { formatCount } from '../../../src/core/words/time.ts'
import { tell } from '../../components/toast.tsx'
import { type BulkAct, type BulkResult, concerned, doToAll } from './bulk-acts.ts'
import classes from './bulk-bar.module.css'
import { BulkQuestion } from './bulk-question.tsx'
import type { Selection } from './selection.ts'

const tasksWord = (count: number): string => (count === 1 ? 'one task' : `${formatCount(count)} tasks`)

const DONE: Readonly<Record<BulkAct, (count: string) => string>> = {
  run: (count) => `${count} run now.`,
  pause: (count) => `${count} paused.`,
  resume: (count) => `${count} resumed.`,
  delete: (count) => `${count} deleted.`,
}
const UNDO: Partial<Readonly<Record<BulkAct, BulkAct>>> = { pause: 'resume', resume: 'pause' }

function tellResult(act: BulkAct, { done, refused }: BulkResult): void {
  const undo = UNDO[act]
  const [first] = refused
  const rest = first === undefined ? '' : ` ${formatCount(refused.length)} not: ${first.reason}`
  tell({
    text: `${capital(DONE[act](tasksWord(done.length)))}${rest}`,
    ...(undo && done.length > 0 ? { undo: () => doToAll(undo, done) } : {}),
  })
}

const capital = (text: string) => text.replace(/^[a-z]/, (letter) => letter.toUpperCase())

export function BulkBar({ selection }: { readonly selection: Selection }) {
  const [asking, setAsking] = useState<'run' | 'delete' | null>(null)
  const [isBusy, setBusy] = useState(false)
  const { tasks } = selection
  if (tasks.length === 0) return null
  const now = async (act: 'pause' | 'resume') => {
    setBusy(true)
    tellResult(act, await doToAll(act, concerned(act, tasks)))
    setBusy(false)
  }
  const none = (act: BulkAct) => isBusy || concerned(act, tasks).length === 0
  return (
    <section className={classes.bar} aria-label="What to do to those selected">
      <strong role="status">{formatCount(tasks.length)} selected</strong>
      <Button size="xs" variant="default" disabled={none('run')} onClick={() => setAsking('run')}>
        Run now…
      </Button>
      <Button size="xs" variant="default" disabled={none('pause')} onClick={() => void now('pause')}>
        Pause
      </Button>
      <Button size="xs" variant="default" disabled={none('resume')} onClick={() => void now('resume')}>
        Resume
      </Button>
      <Button size="xs" variant="default" disabled={none('delete')} onClick={() => setAsking('delete')}>
        Delete…
      </Button>
      <Button size="xs" variant="subtle" onClick={() => selection.set([])}>
        Select none
      </Button>
      {asking && (
        <BulkQuestion
          act={asking}
          tasks={concerned(asking, tasks)}
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
