/** The fields of each type of action. */
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
      label="Duration"
      description="Length of the simulated work, such as 500ms, 10s or 1h30m"
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
        description="A handler that your worker provides"
        placeholder="resize"
        value={draft.handler}
        error={errorAt('/action/name')}
        onChange={(event) => change({ handler: event.currentTarget.value })}
      />
      <Textarea
        label="Payload"
        description="Argument of the handler: JSON or text"
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

/** Fields of an HTTP request: a GET, a POST with a body, or one with all options. */
export function RequestFields(props: PartProps) {
  switch (props.draft.action) {
    case 'ping':
      return <Url {...props} description="Receives a GET request." />
    case 'http':
      return <HttpFields {...props} />
    default:
      return (
        <>
          <Url {...props} description="Receives a POST request." />
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
        description={`One per line, such as accept: application/json. ${MASK} keeps the stored value.`}
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
        label="Success status codes"
        description="Such as 200, 404 or 2xx. Default: 2xx."
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
      summary="Redirects and timeouts"
      fields={LIMITS}
      errorAt={errorAt}
      isOpenFirst={draft.followRedirects + draft.connectTimeout + draft.firstByteTimeout !== ''}
    >
      <TextField
        label="Maximum redirects"
        description={`Up to ${MAX_REDIRECTS}. By default, redirects are not followed.`}
        inputMode="numeric"
        value={draft.followRedirects}
        error={errorAt('/action/followRedirects')}
        onText={(followRedirects) => change({ followRedirects })}
      />
      <TextField
        label="Connection timeout"
        description="Such as 500ms or 5s. Default: 10s."
        value={draft.connectTimeout}
        error={errorAt('/action/connectTimeout')}
        onText={(connectTimeout) => change({ connectTimeout })}
      />
      <TextField
        label="First-byte timeout"
        description="Such as 10s or 1m. Default: the attempt timeout."
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
      description="JSON or text"
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
