/** Has somebody told how runs end. The secret that signs what is sent is shown once, here. */
import { Button, MultiSelect } from '@mantine/core'
import '@mantine/core/styles/Popover.css'
import '@mantine/core/styles/Pill.css'
import '@mantine/core/styles/PillsInput.css'
import { useState } from 'react'
import type { EventSubject } from '../../../src/core/run/history-event.ts'
import { ENDED_STATES } from '../../../src/core/run/run-event.ts'
import { queryClient } from '../../api/query-client.ts'
import { createSubscription, subscriptionsQuery } from '../../api/settings.ts'
import type { SubscriptionInput } from '../../api/wire.ts'
import { ActDialog } from '../../components/act-dialog.tsx'
import { CopyButton } from '../../components/copy.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { Found } from '../../components/found.tsx'
import { useKeptFields } from '../../components/kept.ts'
import { CodeBlock } from '../../components/panel.tsx'
import { LOOKS } from '../../components/state.ts'
import { TextField } from '../../components/text-field.tsx'
import { given } from '../../components/typed.ts'
import classes from './settings.module.css'

type State = (typeof ENDED_STATES)[number]

/** The audit log is sent by subscriptions of its own kind, which the API and the command line create. */
const OFFERED = ['runs', 'circuits'] as const satisfies readonly EventSubject[]

const SUBJECT_WORDS: Readonly<Record<(typeof OFFERED)[number], string>> = {
  runs: 'Runs that end',
  circuits: 'Circuits that open or close',
}

interface Fields {
  readonly name: string
  readonly url: string
  readonly events: readonly EventSubject[]
  readonly states: readonly State[]
  readonly tags: string
}

const START = (): Fields => ({ name: '', url: '', events: ['runs'], states: [], tags: '' })

export function SubscriptionPanel({ onClose }: { readonly onClose: () => void }) {
  const { fields, change, isFound, startOver, forget } = useKeptFields('subscription', START)
  const { name, url, events, states, tags } = fields
  const [secret, setSecret] = useState<string | null>(null)
  const wanted = tags.split(',').flatMap((tag) => tag.trim() || [])
  const isAboutCircuits = events.includes('circuits')
  const input: SubscriptionInput = {
    ...given('name', name),
    url: url.trim(),
    filter: {
      ...(isAboutCircuits ? { events: [...events] } : {}),
      ...(states.length === 0 ? {} : { states: [...states] }),
      ...(wanted.length === 0 ? {} : { tags: wanted }),
    },
  }
  const go = async () => {
    const made = await createSubscription(input)
    void queryClient.invalidateQueries({ queryKey: subscriptionsQuery.queryKey })
    forget()
    setSecret(made.secret)
  }
  const close = () => {
    forget()
    onClose()
  }
  if (secret !== null) return <Secret secret={secret} onClose={onClose} />
  return (
    <ActDialog
      title="New subscription"
      onClose={close}
      effects={[
        ...(isAboutCircuits
          ? ['Belfry posts an event to this URL when the circuit of a target opens or closes, from now on.']
          : []),
        ...(!events.includes('runs')
          ? []
          : [
              `Belfry posts an event to this URL for each run that ends${states.length === 0 ? '' : ` ${states.map((state) => LOOKS[state].word).join(' or ')}`}${wanted.length === 0 ? '' : `, of tasks tagged ${wanted.join(' or ')}`}, from now on.`,
            ]),
        'Delivery is at least once and in order for each task. Failed deliveries are retried for a day; then the subscription is disabled.',
        'The signing secret is shown once, in the next step.',
      ]}
      twin={{ method: 'POST', path: '/v1/subscriptions', body: input }}
      button="Subscribe"
      isReady={url.trim() !== '' && events.length > 0}
      act={go}
    >
      {isFound && <Found onStartOver={startOver} />}
      <TextField
        label="URL"
        type="url"
        placeholder="https://example.com/events"
        value={url}
        onText={(typed) => change({ url: typed })}
        data-autofocus
      />
      <TextField label="Name" maxLength={200} value={name} onText={(typed) => change({ name: typed })} />
      <MultiSelect
        label="Events"
        data={OFFERED.map((value) => ({ value, label: SUBJECT_WORDS[value] }))}
        value={[...events]}
        onChange={(chosen) => change({ events: chosen as EventSubject[] })}
        withScrollArea={false}
        comboboxProps={{ transitionProps: { duration: 0 }, withinPortal: false }}
      />
      <MultiSelect
        label="Run states"
        placeholder={states.length === 0 ? 'Any' : ''}
        data={ENDED_STATES.map((value) => ({ value, label: LOOKS[value].word }))}
        value={[...states]}
        onChange={(chosen) => change({ states: chosen as State[] })}
        withScrollArea={false}
        comboboxProps={{ transitionProps: { duration: 0 }, withinPortal: false }}
      />
      <TextField
        label="Task tags"
        description="Separated by commas. Leave empty for all tasks."
        value={tags}
        onText={(typed) => change({ tags: typed })}
      />
    </ActDialog>
  )
}

function Secret({ secret, onClose }: { readonly secret: string; readonly onClose: () => void }) {
  return (
    <Dialog title="Signing secret" onClose={onClose}>
      <div className={classes.secret}>
        <p>Use it to verify the signatures of events. It is not shown again.</p>
        <CodeBlock label="Secret" text={secret} />
        <div className={classes.secretButtons}>
          <CopyButton text={secret} />
          <Button onClick={onClose} data-autofocus>
            Done
          </Button>
        </div>
      </div>
    </Dialog>
  )
}
