/** The fields of a message: recipients and content. */
import { Textarea } from '@mantine/core'
import { TextField } from '../../components/text-field.tsx'
import { Url } from './action-fields.tsx'
import { Folded } from './folded.tsx'
import type { PartProps } from './part.tsx'
import classes from './task-form.module.css'

export function EmailFields(props: PartProps) {
  const { draft, change, errorAt } = props
  return (
    <>
      <Addresses
        label="To"
        description="Addresses, one per line or separated by commas"
        placeholder="Ada <ada@example.com>"
        value={draft.to}
        error={errorAt('/action/to')}
        onText={(to) => change({ to })}
      />
      <TextField
        label="Subject"
        value={draft.subject}
        error={errorAt('/action/subject')}
        onText={(subject) => change({ subject })}
      />
      <Message {...props} />
      <EmailExtras {...props} />
    </>
  )
}

const EXTRAS = ['/action/cc', '/action/bcc', '/action/from', '/action/replyTo', '/action/html']

function EmailExtras({ draft, change, errorAt }: PartProps) {
  const { cc, bcc, from, replyTo, html } = draft
  return (
    <Folded
      summary="Copies, sender and HTML"
      fields={EXTRAS}
      errorAt={errorAt}
      isOpenFirst={cc + bcc + from + replyTo + html !== ''}
    >
      <Addresses label="Cc" value={cc} error={errorAt('/action/cc')} onText={(cc) => change({ cc })} />
      <Addresses label="Bcc" value={bcc} error={errorAt('/action/bcc')} onText={(bcc) => change({ bcc })} />
      <TextField
        label="From"
        placeholder="Server default"
        value={from}
        error={errorAt('/action/from')}
        onText={(from) => change({ from })}
      />
      <TextField
        label="Reply to"
        placeholder="The sender"
        value={replyTo}
        error={errorAt('/action/replyTo')}
        onText={(replyTo) => change({ replyTo })}
      />
      <Textarea
        className={classes.whole ?? ''}
        label="HTML"
        description="The message as HTML. Email clients that do not show HTML use the message above."
        autosize
        minRows={3}
        maxRows={14}
        value={html}
        error={errorAt('/action/html')}
        onChange={(event) => change({ html: event.currentTarget.value })}
        classNames={{ input: classes.mono ?? '' }}
      />
    </Folded>
  )
}

interface AddressesProps {
  readonly label: string
  readonly description?: string
  readonly placeholder?: string
  readonly value: string
  readonly error: string | undefined
  readonly onText: (text: string) => void
}

function Addresses({ onText, ...props }: AddressesProps) {
  return (
    <Textarea
      {...props}
      autosize
      minRows={1}
      maxRows={6}
      onChange={(event) => onText(event.currentTarget.value)}
    />
  )
}

export function SlackFields(props: PartProps) {
  const { draft, change, errorAt } = props
  return (
    <>
      <Url
        {...props}
        description="The incoming webhook. Anyone who has this URL can post to the channel, so its token is stored as a secret."
      />
      <Message {...props} />
      <Textarea
        label="Blocks"
        description="Block Kit, as a JSON array. Notifications show the message above."
        placeholder='[{ "type": "divider" }]'
        autosize
        minRows={1}
        maxRows={14}
        value={draft.blocks}
        error={errorAt('/action/blocks')}
        onChange={(event) => change({ blocks: event.currentTarget.value })}
        classNames={{ input: classes.mono ?? '' }}
      />
    </>
  )
}

function Message({ draft, change, errorAt }: PartProps) {
  return (
    <Textarea
      label="Message"
      autosize
      minRows={3}
      maxRows={14}
      value={draft.message}
      error={errorAt('/action/text')}
      onChange={(event) => change({ message: event.currentTarget.value })}
    />
  )
}
