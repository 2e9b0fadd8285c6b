import { Button } from '@mantine/core'
import { useInfiniteQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { formatCount } from '../../../src/core/words/time.ts'
import { deleteSubscription, resumeSubscription, subscriptionsQuery } from '../../api/settings.ts'
import type { Subscription } from '../../api/wire.ts'
import { ActDialog } from '../../components/act-dialog.tsx'
import { Failure } from '../../components/failure.tsx'
import { Icon } from '../../components/icon.tsx'
import { Distance, Instant } from '../../components/instant.tsx'
import { Bones, Panel } from '../../components/panel.tsx'
import { type AnyState, LOOKS } from '../../components/state.ts'
import { StateMark } from '../../components/state-mark.tsx'
import { tell, tellFailure } from '../../components/toast.tsx'
import classes from './settings.module.css'

const LOOKS_LIKE: Readonly<Record<Subscription['state'], AnyState>> = {
  active: 'completed',
  failing: 'retrying',
  disabled: 'permanently_failed',
}

/** The webhooks that receive ended runs, and the state of their deliveries. */
export function Subscriptions({ onAdd }: { readonly onAdd: () => void }) {
  const query = useInfiniteQuery(subscriptionsQuery)
  const [asked, setAsked] = useState<Subscription | null>(null)
  const subscriptions = query.data?.pages.flatMap(({ items }) => items) ?? []
  const add = (
    <Button size="xs" variant="default" leftSection={<Icon name="plus" size={14} />} onClick={onAdd}>
      New subscription
    </Button>
  )
  return (
    <Panel title="Subscriptions" aside={add} flush>
      {query.isPending && <Bones count={1} />}
      {query.isError && !query.data && <Failure error={query.error} onRetry={() => void query.refetch()} />}
      {query.data && subscriptions.length === 0 && (
        <p className={classes.nothing}>
          No subscriptions yet. A subscription posts a signed event to your URL when a run ends, with retries.
        </p>
      )}
      <ul aria-label="Subscriptions">
        {subscriptions.map((subscription) => (
          <SubscriptionRow
            key={subscription.id}
            subscription={subscription}
            onChanged={() => void query.refetch()}
            onDelete={() => setAsked(subscription)}
          />
        ))}
      </ul>
      {query.hasNextPage && (
        <div className={classes.more}>
          <Button variant="default" onClick={() => void query.fetchNextPage()}>
            More
          </Button>
        </div>
      )}
      {asked && (
        <DeleteSubscription
          subscription={asked}
          onClose={() => setAsked(null)}
          onDeleted={() => void query.refetch()}
        />
      )}
    </Panel>
  )
}

interface SubscriptionRowProps {
  readonly subscription: Subscription
  readonly onChanged: () => void
  readonly onDelete: () => void
}

function SubscriptionRow({ subscription, onChanged, onDelete }: SubscriptionRowProps) {
  const { id, name, url, state, delivered, lastEvent, lastError, failures, retryAt } = subscription
  const resume = async () => {
    try {
      await resumeSubscription(id)
      tell({ text: `Deliveries to ${name ?? url} continue where they stopped.` })
    } catch (error) {
      tellFailure(error)
    }
    onChanged()
  }
  return (
    <li className={classes.row}>
      <div className={classes.main}>
        <strong className={classes.words}>{name ?? url}</strong>
        {name && <span className={`${classes.small} ${classes.words}`}>{url}</span>}
        <span className={classes.small}>{filterWords(subscription.filter)}</span>
      </div>
      <div className={classes.state}>
        <StateMark state={LOOKS_LIKE[state]} text={state} />
        {state !== 'active' && lastError && (
          <span className={`${classes.small} ${classes.words}`}>
            {lastError.message}, {formatCount(failures)} {failures === 1 ? 'failure' : 'failures'} in a row
          </span>
        )}
        {state === 'failing' && retryAt && (
          <span className={classes.small}>
            next attempt <Distance at={retryAt} />
          </span>
        )}
      </div>
      <div className={classes.state}>
        <span className={classes.small}>{formatCount(delivered)} delivered</span>
        {lastEvent && (
          <span className={classes.small}>
            up to <Instant at={lastEvent.endedAt} precision="second" />
          </span>
        )}
      </div>
      <span className={classes.acts}>
        {state !== 'active' && (
          <Button size="xs" variant="default" onClick={() => void resume()}>
            {state === 'failing' ? 'Try now' : 'Resume'}
          </Button>
        )}
        <Button size="xs" variant="default" onClick={onDelete}>
          Delete…
        </Button>
      </span>
    </li>
  )
}

function filterWords(filter: Subscription['filter']): string {
  const { states = [], ...others } = filter
  const words = Object.entries(others).map(([name, values]) => `${name}: ${(values ?? []).join(', ')}`)
  const ends = states.map((state) => LOOKS[state].word).join(' or ')
  return [ends === '' ? 'all runs that end' : `runs that end ${ends}`, ...words].join(' · ')
}

interface DeleteSubscriptionProps {
  readonly subscription: Subscription
  readonly onClose: () => void
  readonly onDeleted: () => void
}

function DeleteSubscription({ subscription, onClose, onDeleted }: DeleteSubscriptionProps) {
  const { id, name, url } = subscription
  const remove = async () => {
    await deleteSubscription(id)
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
      keep="Cancel"
      isHarmful
      act={remove}
    />
  )
}
