/** Shown when somebody else saved first: their changes, your changes, and the choice between them. */
import { Button } from '@mantine/core'
import type { Task } from '../../api/wire.ts'
import { isSame } from '../../components/differences.ts'
import { Instant } from '../../components/instant.tsx'
import classes from './conflict.module.css'
import { type Draft, draftOf } from './draft.ts'
import { fullInput } from './draft-input.ts'

interface ConflictProps {
  /** The version that the edit started from. */
  readonly base: Task
  readonly theirs: Task
  readonly draft: Draft
  readonly isBusy: boolean
  readonly onKeepMine: () => void
  readonly onTakeTheirs: () => void
}

export function Conflict({ base, theirs, draft, isBusy, onKeepMine, onTakeTheirs }: ConflictProps) {
  const before = fullInput(draftOf(base))
  const other = fullInput(draftOf(theirs))
  const mine = fullInput(draft)
  const fields = (Object.keys(before) as (keyof typeof before)[]).filter(
    (field) => !isSame(before[field], other[field]) || !isSame(before[field], mine[field]),
  )
  return (
    <section className={classes.conflict} role="alert" aria-labelledby="conflict-title">
      <h2 id="conflict-title" tabIndex={-1} ref={takeFocus}>
        Someone else changed this task while you were editing
      </h2>
      <p>
        Version {theirs.version} was saved{' '}
        <Instant at={theirs.updatedAt} zone={theirs.timezone} precision="second" />; you started from version{' '}
        {base.version}. Your changes are not saved yet.
      </p>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard. */}
      <div className={classes.scroll} tabIndex={0} role="region" aria-label="Both versions">
        <table className={classes.table}>
          <thead>
            <tr>
              <th scope="col">Field</th>
              <th scope="col">Version {base.version} (your starting point)</th>
              <th scope="col">Theirs, version {theirs.version}</th>
              <th scope="col">Yours</th>
            </tr>
          </thead>
          <tbody>
            {fields.map((field) => (
              <tr key={field}>
                <th scope="row">{field}</th>
                <td>{show(before[field])}</td>
                <td data-changed={!isSame(before[field], other[field])}>{show(other[field])}</td>
                <td data-changed={!isSame(before[field], mine[field])}>{show(mine[field])}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <div className={classes.buttons}>
        <Button loading={isBusy} onClick={onKeepMine}>
          Save mine as version {theirs.version + 1}
        </Button>
        <Button variant="default" onClick={onTakeTheirs}>
          Discard mine, keep theirs
        </Button>
      </div>
      <p className={classes.hint}>Saving yours overwrites only the fields you changed.</p>
    </section>
  )
}

/** The user is at the Save button at the bottom of the form and would not see the message. */
const takeFocus = (element: HTMLElement | null): void => element?.focus()

const show = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value))
