import { useInfiniteQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { formatCount } from '../../../src/core/words/time.ts'
import type { ChangeOptions } from '../../api/client.ts'
import { useMay } from '../../api/me.ts'
import { itemsOf } from '../../api/pages.ts'
import { deleteSubscription, resumeSubscription, subscriptionsQuery } from '../../api/settings.ts'
import type { Subscription } from '../../api/wire.ts'
import { ActDialog } from '../../components/act-dialog.tsx'
import { Distance, Instant } from '../../components/instant.tsx'
import type { AnyState } from '../../components/state.ts'
import { StateMark } from '../../components/state-mark.tsx'
import { tell, tellFailure } from '../../components/toast.tsx'
import { usePanel } from './panel-in-address.ts'
import { Row, SettingsList, Small } from './settings-list.tsx'
import { SubscriptionPanel } from './subscription-panel.tsx'
import { filterWords } from './subscription-words.ts'

const LOOKS_LIKE: Readonly<Record<Subscription['state'], AnyState>> = {
  active: 'completed',
  failing: 'retrying',
  disabled: 'permanently_failed',
}

/** The webhooks that receive events, and the state of their deliveries. */
export function Subscriptions() {
  const query = useInfiniteQuery(subscriptionsQuery)
  const panel = usePanel()
  const may = useMay()
  const [asked, setAsked] = useState<Subscription | null>(null)
  const resume = async ({ id, name, url }: Subscription) => {
    try {
      await resumeSubscription(id)
      tell({ text: `Deliveries to ${name ?? url} continue where they stopped.` })
    } catch (error) {
      tellFailure(error)
    }
    void query.refetch()
  }
  return (
    <SettingsList
      title="Subscriptions"
      query={query}
      items={itemsOf(query.data)}
      add={may('edit') ? 'New subscription' : undefined}
      onAdd={panel.open}
      nothing="No subscriptions yet. A subscription posts signed events to your URL, with retries: runs that end, circuits that open or close, or changes in the audit log."
      row={(subscription) => (
        <Row
          key={subscription.id}
          name={subscription.name ?? subscription.url}
          about={[
            ...(subscription.name === null ? [] : [subscription.url]),
            filterWords(subscription.filter),
          ]}
          acts={[
            subscription.state !== 'active' &&
              may('operate') && [
                subscription.state === 'failing' ? 'Try now' : 'Resume',
                () => void resume(subscription),
              ],
            may('edit') && ['Delete…', () => setAsked(subscription)],
          ]}
        >
          <Deliveries subscription={subscription} />
        </Row>
      )}
    >
      {panel.isOpen && <SubscriptionPanel onClose={panel.close} />}
      {asked && (
        <DeleteSubscription
          subscription={asked}
          onClose={() => setAsked(null)}
          onDeleted={() => void query.refetch()}
        />
      )}
    </SettingsList>
  )
}

function Deliveries({ subscription }: { readonly subscription: Subscription }) {
  const { state, delivered, lastEvent, lastError, failures, retryAt, gap } = subscription
  return (
    <>
      <StateMark state={LOOKS_LIKE[state]} text={state} />
      {state !== 'active' && lastError && (
        <Small>
          {lastError.message}, {formatCount(failures)} {failures === 1 ? 'failure' : 'failures'} in a row
        </Small>
      )}
      {state === 'failing' && retryAt && (
        <Small>
          next attempt <Distance at={retryAt} />
        </Small>
      )}
      {gap && (
        <Small>
          events from <Instant at={gap.from} precision="second" /> to{' '}
          <Instant at={gap.to} precision="second" /> may be missing: they were deleted before they were
          delivered
        </Small>
      )}
      <Small>
        {formatCount(delivered)} delivered
        {lastEvent && (
          <>
            , up to <Instant at={lastEvent.endedAt} precision="second" />
          </>
        )}
      </Small>
    </>
  )
}

interface DeleteSubscriptionProps {
  readonly subscription: Subscription
  readonly onClose: () => void
  readonly onDeleted: () => void
}

function DeleteSubscription({ subscription, onClose, onDeleted }: DeleteSubscriptionProps) {
  const { id, name, url } = subscription
  const remove = async (options: ChangeOptions) => {
    await deleteSubscription(id, options)
    tell({ text: `Subscription ${name ?? url} was deleted.` })
    onDeleted()
    onClose()
  }
  return (
    <ActDialog
      title={`Delete the subscription ${name ?? url}?`}
      size="md"
      onClose={onClose}
      effects={[
        'No more events are sent, and the delivery position is lost. This cannot be undone.',
        'Past events can still be read at /v1/events.',
      ]}
      twin={{ method: 'DELETE', path: `/v1/subscriptions/${id}` }}
      button="Delete"
      isHarmful
      act={remove}
    />
  )
}
