/** What each kind of action has to be told. */
import { NativeSelect, Textarea, TextInput } from '@mantine/core'
import { HTTP_METHODS, MAX_REDIRECTS } from '../../../src/core/action/action.ts'
import { MASK } from '../../../src/core/action/secret-rule.ts'
import { TextField } from '../../components/text-field.tsx'
import type { Draft } from './draft.ts'
import { Folded } from './folded.tsx'
import type { PartProps } from './part.tsx'
import classes from './task-form.module.css'

export function SleepFields({ draft, change, errorAt }: PartProps) {
  return (
    <TextInput
      label="For how long"
      description="Simulated work: 500ms, 10s, 1h30m"
      value={draft.duration}
      error={errorAt('/action/duration')}
      onChange={(event) => change({ duration: event.currentTarget.value })}
    />
  )
}

export function HandlerFields({ draft, change, errorAt }: PartProps) {
  return (
    <>
      <TextInput
        label="Handler"
        description="The name that a worker of yours offers"
        placeholder="resize"
        value={draft.handler}
        error={errorAt('/action/name')}
        onChange={(event) => change({ handler: event.currentTarget.value })}
      />
      <Textarea
        label="Payload"
        description="What the handler is called with: JSON, or any text"
        autosize
        minRows={3}
        maxRows={14}
        value={draft.payload}
        error={errorAt('/action/payload')}
        onChange={(event) => change({ payload: event.currentTarget.value })}
        classNames={{ input: classes.mono ?? '' }}
      />
    </>
  )
}

/** A request to an address: a GET, a POST with a body, or one that says all of it. */
export function RequestFields(props: PartProps) {
  switch (props.draft.action) {
    case 'ping':
      return <Url {...props} description="Gets a GET." />
    case 'http':
      return <HttpFields {...props} />
    default:
      return (
        <>
          <Url {...props} description="Gets a POST." />
          <Body {...props} />
        </>
      )
  }
}

function HttpFields(props: PartProps) {
  const { draft, change, errorAt } = props
  return (
    <>
      <div className={classes.request}>
        <NativeSelect
          label="Method"
          value={draft.method}
          data={[...HTTP_METHODS]}
          onChange={(event) => change({ method: event.currentTarget.value as Draft['method'] })}
        />
        <Url {...props} />
      </div>
      <Textarea
        label="Headers"
        description={`One a line, such as accept: application/json. ${MASK} keeps the stored secret.`}
        autosize
        minRows={2}
        maxRows={8}
        value={draft.headers}
        error={errorAt('/action/headers')}
        onChange={(event) => change({ headers: event.currentTarget.value })}
        classNames={{ input: classes.mono ?? '' }}
      />
      <Body {...props} />
      <TextInput
        label="Good answers"
        description="Statuses that count as success, such as 200, 404 or 2xx. Empty: 2xx."
        value={draft.expect}
        error={errorAt('/action/expect')}
        onChange={(event) => change({ expect: event.currentTarget.value })}
      />
      <RequestLimits {...props} />
    </>
  )
}

const LIMITS = ['/action/followRedirects', '/action/connectTimeout', '/action/firstByteTimeout']

function RequestLimits({ draft, change, errorAt }: PartProps) {
  return (
    <Folded
      summary="Redirects, and how long to wait"
      fields={LIMITS}
      errorAt={errorAt}
      isOpenFirst={draft.followRedirects + draft.connectTimeout + draft.firstByteTimeout !== ''}
    >
      <TextField
        label="Redirects to follow"
        description={`Up to ${MAX_REDIRECTS}. Empty: none; a redirect is an answer like any other.`}
        inputMode="numeric"
        value={draft.followRedirects}
        error={errorAt('/action/followRedirects')}
        onText={(followRedirects) => change({ followRedirects })}
      />
      <TextField
        label="Wait for a connection"
        description="500ms, 5s. Empty: 10s."
        value={draft.connectTimeout}
        error={errorAt('/action/connectTimeout')}
        onText={(connectTimeout) => change({ connectTimeout })}
      />
      <TextField
        label="Wait for the first byte of the answer"
        description="10s, 1m. Empty: as long as the attempt may take."
        value={draft.firstByteTimeout}
        error={errorAt('/action/firstByteTimeout')}
        onText={(firstByteTimeout) => change({ firstByteTimeout })}
      />
    </Folded>
  )
}

export function Url({ draft, change, errorAt, description }: PartProps & { readonly description?: string }) {
  return (
    <TextInput
      label="URL"
      description={description}
      type="url"
      placeholder="https://example.com/hook"
      value={draft.url}
      error={errorAt('/action/url')}
      onChange={(event) => change({ url: event.currentTarget.value })}
    />
  )
}

function Body({ draft, change, errorAt }: PartProps) {
  return (
    <Textarea
      label="Body"
      description="JSON, or any text"
      autosize
      minRows={3}
      maxRows={14}
      value={draft.body}
      error={errorAt('/action/body')}
      onChange={(event) => change({ body: event.currentTarget.value })}
      classNames={{ input: classes.mono ?? '' }}
    />
  )
}
