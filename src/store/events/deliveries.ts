/** The leases of the nodes that deliver to subscriptions, and the progress of the delivery. */
import { list, part, sql } from '../database/sql.ts'
import type { DeliveryGap, SubscriptionRow, SuspendedTask } from './subscriptions.ts'

/** A subscription that this node has leased for delivery. */
export type LeasedSubscription = Pick<
  SubscriptionRow,
  | 'id'
  | 'projectId'
  | 'url'
  | 'filter'
  | 'batchSize'
  | 'secret'
  | 'keyId'
  | 'position'
  | 'fence'
  | 'failures'
  | 'giveUpAfterMs'
  | 'held'
  | 'gap'
> & { readonly holder: string }

/** Settings that may change while a subscription is being delivered. */
export type DeliverySettings = Pick<
  SubscriptionRow,
  'url' | 'filter' | 'batchSize' | 'secret' | 'keyId' | 'failures' | 'giveUpAfterMs'
>

/**
 * Whether the project of a subscription still has events to deliver. A day after it was archived, those of the runs that ended
 * with it have been delivered, or the receiver has failed for that long; the rest waits until the project is restored.
 */
const hasEvents = part`not exists (
    select from project p where p.id = subscription.project_id and p.archived_at < now() - interval '1 day')`

/** A lease that was released stays free if the clock of the database is set back. */
const isDue = part`disabled_at is null and (holder is null or leased_until <= now()) and retry_at <= now()`

/**
 * Returns subscriptions that are due for delivery and not leased by any node, except those in `except`. Projects take turns,
 * beginning with those that have the fewest among `inProgress`; within a project, the one that was served longest ago is first.
 */
export const unleasedSubscriptions = ({
  limit,
  except,
  inProgress,
}: {
  limit: number
  except: readonly string[]
  /** The projects of the subscriptions that this node delivers to, once for each. */
  inProgress: readonly string[]
}) => sql<{
  id: string
  projectId: string
}>`
  select id, project_id as "projectId"
  from (
    select id, project_id, leased_until, row_number() over (partition by project_id order by leased_until, id) as place
    from subscription
    where ${isDue} and ${hasEvents} and id <> all(${list(except, (id) => id)}::uuid[])
  ) due
  left join (
    select project_id, count(*) as places from unnest(${list(inProgress, (id) => id)}::uuid[]) as one (project_id) group by project_id
  ) taken using (project_id)
  order by place + coalesce(places, 0), leased_until, id limit ${limit}`

/**
 * Leases subscriptions that are due and not leased by any node. The lease of a dead node expires by itself; until then,
 * messages that it sent may still be in flight, and no other node may send.
 */
export const leaseSubscriptions = ({
  subscriptions,
  leaseMs,
}: {
  subscriptions: readonly { readonly id: string }[]
  leaseMs: number
}) => sql<LeasedSubscription>`
  update subscription set holder = gen_random_uuid(), fence = fence + 1, leased_until = now() + ${leaseMs}::float8 * interval '1 millisecond'
  where id = any(array(
    select id from subscription
    where id = any(${list(subscriptions, ({ id }) => id)}::uuid[]) and ${isDue}
    for update skip locked))
  returning id, project_id as "projectId", url, filter, batch_size as "batchSize", secret, key_id as "keyId", position, fence, failures, holder,
            give_up_after_ms as "giveUpAfterMs", held, gap`

/** What was delivered since progress was last stored. */
export interface DeliveryProgress {
  readonly id: string
  readonly fence: number
  /** Position up to which everything was delivered; null to leave it unchanged. */
  readonly position: string | null
  readonly delivered: number
  readonly lastEvent: { readonly id: string; readonly at: number } | null
  /** All tasks whose deliveries are suspended; null if they have not changed. */
  readonly held: readonly SuspendedTask[] | null
  /** Whether some of their deliveries are failing. */
  readonly isFailing: boolean
  /** The latest gap; null to leave it unchanged. */
  readonly gap: DeliveryGap | null
  readonly leaseMs: number
}

/**
 * Stores the progress of a subscription and renews the lease; no row if the lease was lost. If deliveries of tasks are
 * suspended and nothing at all was delivered for `giveUpAfterMs`, the subscription is disabled. The lease ends with the events of
 * the project.
 */
export const saveDelivered = ({
  id,
  fence,
  position,
  delivered,
  lastEvent,
  held,
  isFailing,
  gap,
  leaseMs,
}: DeliveryProgress) => sql<DeliverySettings>`
  update subscription set position = coalesce(${position}, position), delivered = delivered + ${delivered}::integer,
    last_event_id = coalesce(${lastEvent?.id ?? null}, last_event_id),
    last_event_at = coalesce(to_timestamp(${lastEvent?.at ?? null}::float8 / 1000), last_event_at),
    failing_since = case when ${delivered > 0}::boolean then null when ${isFailing}::boolean then coalesce(failing_since, now()) else failing_since end,
    failures = case when ${delivered > 0}::boolean then 0 else failures end,
    last_error = case when ${delivered > 0}::boolean then null else coalesce(last_error, ${errorOf(held)}::jsonb) end,
    held = coalesce(${held === null ? null : JSON.stringify(held)}::jsonb, held),
    gap = coalesce(${gap === null ? null : JSON.stringify(gap)}::jsonb, gap),
    disabled_at = case when ${isFailing && delivered === 0}::boolean and coalesce(last_error, ${errorOf(held)}::jsonb) is not null
                        and now() - failing_since >= give_up_after_ms * interval '1 millisecond' then now() end,
    leased_until = now() + ${leaseMs}::float8 * interval '1 millisecond'
  where id = ${id} and fence = ${fence} and disabled_at is null and ${hasEvents}
  returning url, filter, batch_size as "batchSize", secret, key_id as "keyId", failures, give_up_after_ms as "giveUpAfterMs"`

/** Returns the latest error of the tasks whose deliveries are suspended, as stored. */
function errorOf(held: readonly SuspendedTask[] | null): string | null {
  const errors = (held ?? []).flatMap(({ lastError }) => lastError ?? [])
  const [latest] = errors.sort((a, b) => b.at - a.at)
  return latest === undefined ? null : JSON.stringify(latest)
}

/** A failed delivery, and when to retry it. */
export interface DeliveryFailure {
  readonly id: string
  readonly fence: number
  readonly error: { readonly code: string; readonly message: string }
  readonly retryInMs: number
  /** Whether retrying is pointless. */
  readonly isFinal: boolean
}

/** Records a failure and releases the lease; a subscription that has been failing for too long is disabled. */
export const saveFailed = ({ id, fence, error, retryInMs, isFinal }: DeliveryFailure) => sql<{
  disabledAt: number | null
}>`
  update subscription set failures = failures + 1, failing_since = coalesce(failing_since, now()),
    retry_at = now() + ${retryInMs}::float8 * interval '1 millisecond',
    last_error = ${JSON.stringify(error)}::jsonb || jsonb_build_object('at', floor(extract(epoch from now()) * 1000)),
    disabled_at = case when ${isFinal}::boolean or now() - coalesce(failing_since, now()) >= give_up_after_ms * interval '1 millisecond'
                       then now() end,
    holder = null, leased_until = now()
  where id = ${id} and fence = ${fence}
  returning disabled_at as "disabledAt"`

/**
 * Releases a lease, even one whose fence has moved, once no message is in flight, so that no node has to wait until it expires.
 * The instant puts the subscription behind those that have waited longer.
 */
export const releaseSubscription = ({ id, holder }: { id: string; holder: string }) => sql`
  update subscription set holder = null, leased_until = now() where id = ${id} and holder = ${holder}`
