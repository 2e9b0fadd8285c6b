/** The right side of the form: how the server understands the fields on the left. */
import { useQuery } from '@tanstack/react-query'
import { actionWords } from '../../../src/core/words/action.ts'
import { ApiError } from '../../api/client.ts'
import { onGridOf, previewQuery } from '../../api/tasks.ts'
import type { FieldProblem, Preview, Schedule, Task } from '../../api/wire.ts'
import { ClockChanges } from '../../components/clock-changes.tsx'
import { differences } from '../../components/differences.ts'
import { durationWords } from '../../components/duration-words.ts'
import { Distance, Instant } from '../../components/instant.tsx'
import { Panel } from '../../components/panel.tsx'
import { Sentence } from '../../components/sentence.tsx'
import { useSettled } from '../../components/settled.ts'
import classes from './consequences.module.css'
import { type Draft, draftOf } from './draft.ts'
import { actionOf } from './draft-action.ts'
import { fullInput } from './draft-input.ts'
import { scheduleOf } from './draft-schedule.ts'
import { retryWords } from './retry-words.ts'

const SHOWN_OCCURRENCES = 6
const TYPING_MS = 250

/** The draft's schedule as the server reads it, or the problems with it and their fields. */
export function usePreview(draft: Draft, current?: Task) {
  const { startAt, endAt } = fullInput(draft)
  const seed = current?.seed ?? draft.key.trim()
  const input = useSettled(
    {
      schedule:
        'schedule' in draft.raw ? (draft.raw['schedule'] as Schedule) : onGridOf(current, scheduleOf(draft)),
      ...(seed === '' ? {} : { seed }),
      ...(startAt == null ? {} : { startAt }),
      ...(endAt == null ? {} : { endAt }),
      count: SHOWN_OCCURRENCES,
    },
    TYPING_MS,
  )
  const { schedule } = input
  const isEmpty =
    typeof schedule === 'string' ? schedule === '' : schedule?.type === 'once' && schedule.at === ''
  const { data, error } = useQuery({
    ...previewQuery(isEmpty ? null : input),
    placeholderData: (before) => before,
  })
  const problems: readonly FieldProblem[] = error instanceof ApiError ? error.fields : []
  return { preview: error ? null : (data ?? null), problems, error }
}

interface ConsequencesProps {
  readonly draft: Draft
  readonly preview: Preview | null
  readonly problems: readonly FieldProblem[]
  /** The stored task that is being edited. */
  readonly current?: Task
}

export function Consequences({ draft, preview, problems, current }: ConsequencesProps) {
  return (
    <Panel title="Preview">
      <div className={classes.list}>
        <p className={classes.action}>
          {'action' in draft.raw ? 'As defined in the JSON' : actionWords(actionOf(draft))}
        </p>
        {problems.length > 0 ? (
          <p className={classes.wrong} role="status">
            {problems.map(({ detail }) => detail).join('; ')}
          </p>
        ) : (
          <Occurrences draft={draft} preview={preview} />
        )}
        {current && <Moves current={current} draft={draft} preview={preview} />}
        <p className={classes.policy}>{retryWords(draft)}</p>
        <p className={classes.policy}>{misfireWords(draft)}</p>
      </div>
    </Panel>
  )
}

function Occurrences({ draft, preview }: { readonly draft: Draft; readonly preview: Preview | null }) {
  if (preview === null)
    return (
      <p className={classes.policy}>
        {draft.when === 'once' || draft.when === 'words' ? 'Enter a schedule.' : 'Loading…'}
      </p>
    )
  return (
    <>
      <p className={classes.words}>
        <Sentence text={preview.description} zone={preview.timezone} />
      </p>
      {preview.occurrences.length > 0 ? (
        <ol className={classes.times} aria-label="Next occurrences">
          {preview.occurrences.map(({ at }, index) => (
            <li key={at}>
              <Instant at={at} zone={preview.timezone} />
              {index === 0 && (
                <span className={classes.soon}>
                  <Distance at={at} />
                </span>
              )}
            </li>
          ))}
        </ol>
      ) : (
        draft.when !== 'manual' && <p className={classes.policy}>No occurrences within these limits.</p>
      )}
      <ClockChanges notes={preview.notes} className={classes.notes} />
    </>
  )
}

interface MovesProps {
  readonly current: Task
  readonly draft: Draft
  readonly preview: Preview | null
}

/** What saving would change about the stored task. */
function Moves({ current, draft, preview }: MovesProps) {
  const changes = differences(fullInput(draftOf(current)), fullInput(draft))
  if (changes.length === 0) return <p className={classes.policy}>No changes yet.</p>

  const next = preview?.occurrences[0]?.at
  const isMoved =
    current.nextFireAt !== null && next !== undefined && Date.parse(next) !== Date.parse(current.nextFireAt)
  return (
    <ul className={classes.moves} aria-label="Changes">
      <li>
        Version {current.version} becomes {current.version + 1}.
      </li>
      {isMoved && current.nextFireAt && (
        <li>
          Next run moves from <Instant at={current.nextFireAt} zone={current.timezone} /> to{' '}
          <Instant at={next} zone={preview?.timezone} />.
        </li>
      )}
      {current.openRun && <li>The {current.openRun.state} run keeps its settings.</li>}
      {changes.map(({ path, before, after }) => (
        <li key={path}>
          <code>{path}</code>: <del>{valueWords(before)}</del> → <ins>{valueWords(after)}</ins>
        </li>
      ))}
    </ul>
  )
}

/** Long values are cut; the form shows them in full. */
const MAX_VALUE_CHARACTERS = 80

function valueWords(value: unknown): string {
  if (value === null || value === undefined) return 'none'
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return text.length > MAX_VALUE_CHARACTERS ? `${text.slice(0, MAX_VALUE_CHARACTERS)}…` : text
}

function misfireWords({ misfirePolicy, misfireWindow: window, when }: Draft): string {
  const misfireWindow = durationWords(window)
  if (when === 'manual') return 'A manual task has no occurrences to miss.'
  if (misfirePolicy === 'skip') return 'After downtime: records missed occurrences as skipped.'
  if (misfirePolicy === 'fail') return 'After downtime: records missed occurrences as failed.'
  if (misfirePolicy === 'run_all')
    return `After downtime: runs every missed occurrence up to ${misfireWindow} old.`
  return `After downtime: runs the newest missed occurrence, if it is at most ${misfireWindow} old.`
}
