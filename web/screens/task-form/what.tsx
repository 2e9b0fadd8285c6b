/** What the task does: its name, the type of its action, and the action's fields. */
import { TextInput } from '@mantine/core'
import { HandlerFields, RequestFields, SleepFields } from './action-fields.tsx'
import { Choice } from './choice.tsx'
import type { Draft } from './draft.ts'
import { EmailFields, SlackFields } from './message-fields.tsx'
import { type PartProps, Question } from './part.tsx'
import { ProgramFields } from './program-fields.tsx'

const ACTIONS = [
  { value: 'webhook', label: 'Webhook' },
  { value: 'ping', label: 'Ping' },
  { value: 'http', label: 'HTTP' },
  { value: 'slack', label: 'Slack' },
  { value: 'email', label: 'Email' },
  { value: 'handler', label: 'Handler' },
  { value: 'exec', label: 'Program' },
  { value: 'sleep', label: 'Sleep' },
]

const FIELDS: Readonly<Record<Draft['action'], (props: PartProps) => React.ReactNode>> = {
  webhook: RequestFields,
  ping: RequestFields,
  http: RequestFields,
  slack: SlackFields,
  email: EmailFields,
  handler: HandlerFields,
  exec: ProgramFields,
  sleep: SleepFields,
}

export function What({ draft, change, errorAt }: PartProps) {
  const Fields = FIELDS[draft.action]
  return (
    <Question number={1} title="What to run">
      <TextInput
        label="Name"
        placeholder="nightly backup"
        value={draft.name}
        error={errorAt('/name')}
        onChange={(event) => change({ name: event.currentTarget.value })}
        data-autofocus
      />
      <Choice
        label="Action"
        value={draft.action}
        choices={ACTIONS}
        onChange={(action) => change({ action: action as Draft['action'] })}
      />
      <Fields draft={draft} change={change} errorAt={errorAt} />
    </Question>
  )
}
