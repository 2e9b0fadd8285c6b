/** The form for a task: four questions on the left, the consequences of the answers on the right, and the buttons below. */
import { Button, SegmentedControl } from '@mantine/core'
import '@mantine/core/styles/SegmentedControl.css'
import '@mantine/core/styles/FloatingIndicator.css'
import { type FormEvent, type ReactNode, useEffect, useRef, useState } from 'react'
import { ApiError } from '../../api/client.ts'
import type { FieldProblem } from '../../api/wire.ts'
import { Failure } from '../../components/failure.tsx'
import type { Draft } from './draft.ts'
import { BOXES } from './draft-fields.ts'
import { JsonEditor } from './json-editor.tsx'
import type { PartProps } from './part.tsx'
import classes from './task-form.module.css'
import { What } from './what.tsx'
import { When } from './when.tsx'
import { Who } from './who.tsx'
import { Wrong } from './wrong.tsx'

interface TaskFormProps {
  readonly draft: Draft
  readonly onChange: (draft: Draft) => void
  /** Converts the draft to JSON, and the values that apply to fields that JSON leaves out. */
  readonly jsonOf: (draft: Draft) => object
  readonly start: Draft
  /** Problems that the server found with the request or with the current schedule. */
  readonly problems: readonly FieldProblem[]
  readonly error: unknown
  readonly isBusy: boolean
  /** The field for the reason, if there is something to explain. */
  readonly reason?: ReactNode
  readonly buttons: ReactNode
  readonly aside: ReactNode
  readonly onSave: () => void
}

/** JSON pointers of the form's fields; other problems are shown above the buttons. */
const SHOWN = [
  ...BOXES.map(({ pointer }) => pointer),
  '/action/url',
  '/action/method',
  '/action/headers',
  '/action/body',
  '/action/expect',
  '/action/followRedirects',
  '/action/connectTimeout',
  '/action/firstByteTimeout',
  '/action/duration',
  '/action/name',
  '/action/payload',
  '/action/text',
  '/action/blocks',
  '/action/to',
  '/action/cc',
  '/action/bcc',
  '/action/from',
  '/action/replyTo',
  '/action/subject',
  '/action/html',
  '/schedule',
  '/schedule/at',
  '/schedule/interval',
  '/schedule/anchor',
  '/schedule/expression',
  '/schedule/hour',
  '/schedule/minute',
  '/schedule/timezone',
  '/schedule/gap',
  '/schedule/fold',
]

const FORMS = [
  { value: 'fields', label: 'Form' },
  { value: 'json', label: 'JSON' },
] as const
type Form = (typeof FORMS)[number]['value']

export function TaskForm({
  draft,
  onChange,
  jsonOf,
  start,
  problems,
  error,
  isBusy,
  reason,
  buttons,
  aside,
  onSave,
}: TaskFormProps) {
  const change: PartProps['change'] = (part) => onChange({ ...draft, ...part })
  const isAt = (pointer: string, place: string) => pointer === place || pointer.startsWith(`${place}/`)
  const errorAt: PartProps['errorAt'] = (place) =>
    problems.find(({ pointer }) => isAt(pointer, place))?.detail
  const isShown = ({ pointer }: FieldProblem) => SHOWN.some((place) => isAt(pointer, place))
  const isToldElsewhere = error instanceof ApiError && error.fields.length > 0 && error.fields.every(isShown)
  const submit = (event: FormEvent) => {
    event.preventDefault()
    onSave()
  }
  const [form, setForm] = useState<Form>('fields')
  const element = useRef<HTMLFormElement>(null)
  useEffect(() => {
    // The field may be far above the button.
    if (error !== null) element.current?.querySelector<HTMLElement>('[aria-invalid=true]')?.focus()
  }, [error])
  const parts = { draft, change, errorAt }
  return (
    <form ref={element} className={classes.form} onSubmit={submit} noValidate>
      <div className={classes.left}>
        <SegmentedControl
          aria-label="Edit as"
          className={classes.forms}
          size="xs"
          value={form}
          data={[...FORMS]}
          onChange={setForm}
          transitionDuration={0}
        />
        {form === 'json' ? (
          <JsonEditor draft={draft} jsonOf={jsonOf} start={start} problems={problems} onChange={onChange} />
        ) : (
          <>
            <Carried draft={draft} onDrop={() => change({ raw: {} })} />
            <What {...parts} />
            <When {...parts} />
            <Wrong {...parts} />
            <Who {...parts} />
          </>
        )}
      </div>
      <aside className={classes.right} aria-label="Preview">
        {aside}
      </aside>
      <div className={classes.end}>
        {error !== null && !isToldElsewhere && <Failure error={error} />}
        {isToldElsewhere && (
          <p role="alert" className={classes.refused}>
            Not saved: {problems.length === 1 ? 'one field is' : `${problems.length} fields are`} invalid.
          </p>
        )}
        {reason}
        <div className={classes.buttons} aria-busy={isBusy}>
          {buttons}
        </div>
      </div>
    </form>
  )
}

interface CarriedProps {
  readonly draft: Draft
  readonly onDrop: () => void
}

/** Values from JSON that fit no field. */
function Carried({ draft: { raw }, onDrop }: CarriedProps) {
  const names = Object.keys(raw)
  if (names.length === 0) return null
  return (
    <p className={classes.carried} role="status">
      <span>
        {names.length === 1
          ? 'This field is set in JSON and overrides'
          : 'These fields are set in JSON and override'}{' '}
        the form: <code>{names.join(', ')}</code>
      </span>
      <Button size="compact-sm" variant="default" onClick={onDrop}>
        Use the form instead
      </Button>
    </p>
  )
}
