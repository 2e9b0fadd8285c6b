/** Something that is about to be done: what to decide, what follows from it, the same for a terminal, and then the button. */
import { Button } from '@mantine/core'
import { type FormEvent, type ReactNode, useState } from 'react'
import { chosenProject } from '../api/chosen-project.ts'
import { ApiError } from '../api/client.ts'
import classes from './act-dialog.module.css'
import { CopyButton } from './copy.tsx'
import { curlOf, type TwinRequest } from './curl.ts'
import { Dialog } from './dialog.tsx'
import { Failure } from './failure.tsx'
import { FieldProblems } from './field-problems.ts'
import { Found } from './found.tsx'
import type { KeptFields } from './kept.ts'
import { CodeBlock } from './panel.tsx'

interface ActDialogProps {
  readonly title: string
  readonly size?: string
  /** The fields, when there is something to decide. */
  readonly children?: ReactNode
  /** What keeps them until the act is done or given up. */
  readonly kept?: Pick<KeptFields<unknown>, 'isFound' | 'startOver' | 'forget'>
  /** What follows, a line each. */
  readonly effects: readonly ReactNode[]
  readonly twin: TwinRequest
  /** The same on Belfry's own command line, where it has a command for it. */
  readonly command?: string
  readonly button: string
  readonly isHarmful?: boolean
  readonly isReady?: boolean
  /** Says what is not to be done. */
  readonly keep?: string
  readonly act: () => Promise<unknown>
  readonly onClose: () => void
}

/** Whoever has chosen a project means it on the command line too, unless the command says which. */
function inProject(command: string): string {
  const project = chosenProject()
  const isSaid = / --(project|installation)\b/.test(command) || command.startsWith('belfry project ')
  return project === null || isSaid ? command : `${command} --project ${project}`
}

export function ActDialog(props: ActDialogProps) {
  const { title, size = 'lg', children, kept, effects, twin, button } = props
  const { isHarmful = false, isReady = true } = props
  const [error, setError] = useState<unknown>(null)
  const [isBusy, setBusy] = useState(false)
  const go = async (event: FormEvent) => {
    event.preventDefault()
    if (!isReady || isBusy) return
    setBusy(true)
    setError(null)
    try {
      await props.act()
      kept?.forget()
    } catch (failure) {
      setError(failure)
      setBusy(false)
    }
  }
  const close = () => {
    kept?.forget()
    props.onClose()
  }
  const command = props.command && inProject(props.command)
  const text = [command, curlOf(twin)].filter((line) => line !== undefined).join('\n\n')
  return (
    <Dialog title={title} size={size} onClose={close}>
      <form className={classes.body} onSubmit={(event) => void go(event)} noValidate>
        {kept?.isFound && <Found onStartOver={kept.startOver} />}
        <FieldProblems value={error instanceof ApiError ? error.fields : []}>{children}</FieldProblems>
        <section className={classes.effects} aria-label="Effects" aria-live="polite">
          <ul>
            {effects.map((effect, index) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: lines have no other name.
              <li key={index}>{effect}</li>
            ))}
          </ul>
        </section>
        <details>
          <summary className={classes.summary}>Equivalent commands</summary>
          <div className={classes.twin}>
            <CodeBlock label="Equivalent commands" text={text} />
            <CopyButton text={text} />
          </div>
        </details>
        {error !== null && <Failure error={error} />}
        <div className={classes.buttons}>
          <Button variant="default" onClick={close} {...(children ? {} : { 'data-autofocus': true })}>
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
