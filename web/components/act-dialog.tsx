/** A dialog for an action: its options, its consequences, the equivalent command, and the button that performs it. */
import { Button } from '@mantine/core'
import { type FormEvent, type ReactNode, useState } from 'react'
import { chosenProject } from '../api/chosen-project.ts'
import { ApiError, type ChangeOptions } from '../api/client.ts'
import classes from './act-dialog.module.css'
import { CopyButton } from './copy.tsx'
import { curlOf, type TwinRequest } from './curl.ts'
import { Dialog } from './dialog.tsx'
import { Failure } from './failure.tsx'
import { FieldProblems } from './field-problems.ts'
import { Found } from './found.tsx'
import type { KeptFields } from './kept.ts'
import { CodeBlock } from './panel.tsx'
import { quote } from './shell.ts'
import { ReasonField, type ReasonFieldProps } from './text-field.tsx'
import { given } from './typed.ts'

interface ActDialogProps {
  readonly title: string
  readonly size?: string
  /** Fields for the options, if there are any. */
  readonly children?: ReactNode
  /** The field for the reason, if the body of the request contains it. Otherwise the dialog keeps it and passes it to `act`. */
  readonly reason?: ReasonFieldProps
  /** Keeps unsaved fields until the action is performed or cancelled. */
  readonly kept?: Pick<KeptFields<unknown>, 'isFound' | 'startOver' | 'forget'>
  /** The consequences, one line each. */
  readonly effects: readonly ReactNode[]
  readonly twin: TwinRequest
  /** The equivalent command of the command line, if there is one. */
  readonly command?: string
  readonly button: string
  readonly isHarmful?: boolean
  readonly isReady?: boolean
  /** Label of the button that cancels. */
  readonly keep?: string
  readonly act: (options: ChangeOptions) => Promise<unknown>
  readonly onClose: () => void
}

/** Adds the chosen project to a command that does not name one. */
function inProject(command: string): string {
  const project = chosenProject()
  const isSaid = / --(project|installation)\b/.test(command) || command.startsWith('belfry project ')
  return project === null || isSaid ? command : `${command} --project ${project}`
}

/** Every command takes the reason for its change. */
function withReason(command: string, reason: string): string {
  const text = reason.trim()
  return text === '' ? command : `${command} --reason ${quote(text)}`
}

export function ActDialog(props: ActDialogProps) {
  const { title, size = 'lg', children, kept, effects, twin, button } = props
  const { isHarmful = false, isReady = true } = props
  const [error, setError] = useState<unknown>(null)
  const [isBusy, setBusy] = useState(false)
  const [reason, setReason] = useState('')
  const reasonField = props.reason ?? { value: reason, onText: setReason }
  const options = props.reason ? {} : given('reason', reason)
  const go = async (event: FormEvent) => {
    event.preventDefault()
    if (!isReady || isBusy) return
    setBusy(true)
    setError(null)
    try {
      await props.act(options)
      kept?.forget()
    } catch (failure) {
      setError(failure)
      setBusy(false)
    }
  }
  // The result may be shown in the next step and nowhere else, such as a new key.
  const close = () => {
    if (isBusy) return
    kept?.forget()
    props.onClose()
  }
  return (
    <Dialog title={title} size={size} onClose={close}>
      <form className={classes.body} onSubmit={(event) => void go(event)} noValidate>
        {kept?.isFound && <Found onStartOver={kept.startOver} />}
        <FieldProblems value={error instanceof ApiError ? error.fields : []}>
          {reasonField.isFirst && <ReasonField {...reasonField} />}
          {children}
          {!reasonField.isFirst && <ReasonField {...reasonField} />}
        </FieldProblems>
        <section className={classes.effects} aria-label="Effects" aria-live="polite">
          <ul>
            {effects.map((effect, index) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: lines have no other name.
              <li key={index}>{effect}</li>
            ))}
          </ul>
        </section>
        <Twins
          command={props.command && withReason(inProject(props.command), reasonField.value)}
          request={{ ...twin, ...options }}
        />
        {error !== null && <Failure error={error} />}
        <div className={classes.buttons}>
          <Button
            variant="default"
            onClick={close}
            disabled={isBusy}
            {...(children || reasonField.isFirst ? {} : { 'data-autofocus': true })}
          >
            {props.keep ?? 'Cancel'}
          </Button>
          <Button
            type="submit"
            loading={isBusy}
            disabled={!isReady}
            {...(isHarmful ? { color: 'red.9' } : {})}
          >
            {button}
          </Button>
        </div>
      </form>
    </Dialog>
  )
}

interface TwinsProps {
  readonly command: string | undefined
  readonly request: TwinRequest
}

function Twins({ command, request }: TwinsProps) {
  const text = [command, curlOf(request)].filter((line) => line !== undefined).join('\n\n')
  return (
    <details>
      <summary className={classes.summary}>Equivalent commands</summary>
      <div className={classes.twin}>
        <CodeBlock label="Equivalent commands" text={text} />
        <CopyButton text={text} />
      </div>
    </details>
  )
}
