/** The form for a task, new or not: four questions on the left, on the right what follows from the answers. */
import type { FormEvent, ReactNode } from 'react'
import { ApiError } from '../../api/client.ts'
import type { FieldProblem } from '../../api/wire.ts'
import { Failure } from '../../components/failure.tsx'
import type { Draft } from './draft.ts'
import type { PartProps } from './part.tsx'
import classes from './task-form.module.css'
import { What } from './what.tsx'
import { When } from './when.tsx'
import { Who } from './who.tsx'
import { Wrong } from './wrong.tsx'

interface TaskFormProps {
  readonly draft: Draft
  readonly onChange: (draft: Draft) => void
  /** What is wrong, as the server said it: with what was sent, or with the schedule as it stands. */
  readonly problems: readonly FieldProblem[]
  readonly error: unknown
  readonly isBusy: boolean
  readonly buttons: ReactNode
  readonly aside: ReactNode
  readonly onSave: () => void
}

/** Fields of the form, by pointer; problems elsewhere are told above the buttons. */
const SHOWN = [
  '/name',
  '/key',
  '/owner',
  '/tags',
  '/action/url',
  '/action/method',
  '/action/headers',
  '/action/body',
  '/action/expect',
  '/action/duration',
  '/schedule',
  '/schedule/at',
  '/schedule/interval',
  '/schedule/expression',
  '/schedule/hour',
  '/schedule/minute',
  '/schedule/timezone',
  '/schedule/gap',
  '/schedule/fold',
  '/startAt',
  '/endAt',
  '/maxRuns',
  '/retry/limit',
  '/retry/initial',
  '/retry/max',
  '/timeout',
  '/misfire/window',
  '/queue',
  '/priority',
  '/labels',
  '/concurrencyKey',
  '/concurrencyLimit',
]

export function TaskForm({
  draft,
  onChange,
  problems,
  error,
  isBusy,
  buttons,
  aside,
  onSave,
}: TaskFormProps) {
  const change: PartProps['change'] = (part) => onChange({ ...draft, ...part })
  const isAt = (pointer: string, place: string) => pointer === place || pointer.startsWith(`${place}/`)
  const errorAt: PartProps['errorAt'] = (place) => problems.find(({ pointer }) => isAt(pointer, place))?.detail
  const isShown = ({ pointer }: FieldProblem) => SHOWN.some((place) => isAt(pointer, place))
  const isToldElsewhere = error instanceof ApiError && error.fields.length > 0 && error.fields.every(isShown)
  const submit = (event: FormEvent) => {
    event.preventDefault()
    onSave()
  }
  const parts = { draft, change, errorAt }
  return (
    <form className={classes.form} onSubmit={submit} noValidate>
      <div className={classes.left}>
        <What {...parts} />
        <When {...parts} />
        <Wrong {...parts} />
        <Who {...parts} />
        {error !== null && !isToldElsewhere && <Failure error={error} />}
        {isToldElsewhere && (
          <p role="alert" className={classes.refused}>
            Not saved: {problems.length === 1 ? 'one field is' : `${problems.length} fields are`} not right
            yet.
          </p>
        )}
        <div className={classes.buttons} aria-busy={isBusy}>
          {buttons}
        </div>
      </div>
      <aside className={classes.right} aria-label="What will happen">
        {aside}
      </aside>
    </form>
  )
}
