/** Creates a subscription, which sends events to a URL: ended runs, circuits, or changes. The signing secret is shown once. */
import { MultiSelect, NativeSelect } from '@mantine/core'
import '@mantine/core/styles/Popover.css'
import '@mantine/core/styles/Pill.css'
import '@mantine/core/styles/PillsInput.css'
import { useState } from 'react'
import type { ChangeOptions } from '../../api/client.ts'
import { useMay } from '../../api/me.ts'
import { queryClient } from '../../api/query-client.ts'
import { createSubscription, subscriptionsQuery } from '../../api/settings.ts'
import { ActDialog } from '../../components/act-dialog.tsx'
import { useKeptFields } from '../../components/kept.ts'
import { TextField } from '../../components/text-field.tsx'
import classes from './settings.module.css'
import { ShownOnce } from './shown-once.tsx'
import {
  ABOUT_WORDS,
  CHOICES,
  eventWords,
  inputOf,
  START,
  type SubscriptionFields,
} from './subscription-fields.ts'

export function SubscriptionPanel({ onClose }: { readonly onClose: () => void }) {
  const kept = useKeptFields('subscription', START)
  const { fields, change } = kept
  const [secret, setSecret] = useState<string | null>(null)
  const input = inputOf(fields)
  const go = async (options: ChangeOptions) => {
    const made = await createSubscription(input, options)
    void queryClient.invalidateQueries({ queryKey: subscriptionsQuery.queryKey })
    setSecret(made.secret)
  }
  if (secret !== null)
    return (
      <ShownOnce
        title="Signing secret"
        label="Secret"
        words="Use it to verify the signatures of events."
        text={secret}
        onClose={onClose}
      />
    )
  return (
    <ActDialog
      title="New subscription"
      onClose={onClose}
      kept={kept}
      effects={[
        `Belfry posts an event to this URL ${eventWords(fields)}, from now on.`,
        'Delivery is at least once. Failed deliveries are retried for a day; then the subscription is disabled.',
        'The signing secret is shown once, in the next step.',
      ]}
      twin={{ method: 'POST', path: '/v1/subscriptions', body: input }}
      button="Subscribe"
      isReady={input.url !== ''}
      act={go}
    >
      <TextField
        label="URL"
        pointer="/url"
        type="url"
        placeholder="https://example.com/events"
        value={fields.url}
        onText={(url) => change({ url })}
        data-autofocus
      />
      <TextField label="Name" maxLength={200} value={fields.name} onText={(name) => change({ name })} />
      <EventFields fields={fields} change={change} />
    </ActDialog>
  )
}

interface EventFieldsProps {
  readonly fields: SubscriptionFields
  readonly change: (part: Partial<SubscriptionFields>) => void
}

/** The subject of the events and its filters. */
function EventFields({ fields, change }: EventFieldsProps) {
  const isAdmin = useMay()('administer')
  const { about } = fields
  const offered = Object.entries(ABOUT_WORDS).filter(([value]) => value !== 'changes' || isAdmin)
  return (
    <>
      <NativeSelect
        label="Events"
        value={about}
        data={offered.map(([value, label]) => ({ value, label }))}
        onChange={(event) => change({ about: event.currentTarget.value as SubscriptionFields['about'] })}
      />
      {about === 'changes' && (
        <Several
          label="Changes"
          choices={CHOICES.actions}
          value={fields.actions}
          onChange={(actions) => change({ actions })}
        />
      )}
      {(about === 'runs' || about === 'both') && (
        <>
          <Several
            label="Run states"
            choices={CHOICES.states}
            value={fields.states}
            onChange={(states) => change({ states })}
          />
          <TextField
            label="Task tags"
            pointer="/filter/tags"
            description="Separated by commas. Leave empty for all tasks."
            value={fields.tags}
            onText={(tags) => change({ tags })}
          />
        </>
      )}
    </>
  )
}

interface SeveralProps<T extends string> {
  readonly label: string
  readonly choices: readonly { readonly value: T; readonly label: string }[]
  readonly value: readonly T[]
  readonly onChange: (value: readonly T[]) => void
}

function Several<T extends string>({ label, choices, value, onChange }: SeveralProps<T>) {
  return (
    <MultiSelect
      label={label}
      placeholder={value.length === 0 ? 'Any' : ''}
      data={[...choices]}
      value={[...value]}
      onChange={(chosen) => onChange(chosen as T[])}
      searchable
      withScrollArea={false}
      classNames={{ dropdown: classes.choices ?? '' }}
      comboboxProps={{ transitionProps: { duration: 0 }, withinPortal: false }}
    />
  )
}
