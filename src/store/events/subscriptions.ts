/** Subscriptions to run events by webhook, and their settings. */
import type { EventFilter } from '../../core/run/history-event.ts'
import { sql } from '../database/sql.ts'

/** Why the last delivery to a subscription failed. */
export interface DeliveryError {
  readonly code: string
  readonly message: string
  readonly at: number
}

/** A time range whose events may have been deleted before they were delivered. */
export interface DeliveryGap {
  readonly from: number
  readonly to: number
  /** When this was noticed. */
  readonly at: number
}

/** A subscription as stored. */
export interface SubscriptionRow {
  readonly id: string
  readonly projectId: string
  readonly name: string | null
  readonly url: string
  readonly filter: EventFilter
  readonly batchSize: number
  readonly giveUpAfterMs: number
  /** As stored: encrypted and in base64 if there is a key, otherwise plain. */
  readonly secret: string
  readonly keyId: string | null
  readonly createdAt: number
  readonly updatedAt: number
  readonly position: string
  readonly fence: number
  readonly delivered: number
  readonly lastEventId: string | null
  readonly lastEventAt: number | null
  readonly failingSince: number | null
  readonly failures: number
  readonly retryAt: number | null
  readonly lastError: DeliveryError | null
  readonly disabledAt: number | null
  readonly held: readonly SuspendedTask[]
  readonly gap: DeliveryGap | null
}

/** A task whose deliveries are suspended while those of other tasks continue. */
export interface SuspendedTask {
  readonly taskId: string
  /** The target, if this entry is about its circuit instead of a task; `taskId` is then only an identifier. */
  readonly target?: string | null
  /** Position up to which its events were delivered. */
  readonly position: string
  /** Number of consecutive failures; 0 once deliveries succeed again and the task is catching up with the others. */
  readonly failures: number
  readonly failingSince: number
  /** When the next attempt is due; null if it was given up. */
  readonly retryAt: number | null
  readonly lastError: DeliveryError | null
}

/** The settings of a subscription that users choose. */
export interface SubscriptionSettings {
  readonly name: string | null
  readonly url: string
  readonly filter: EventFilter
  readonly batchSize: number
  readonly giveUpAfterMs: number
  readonly secret: string
  readonly keyId: string | null
}

/** A subscription to create, and the position at which it begins. */
export interface NewSubscription extends SubscriptionSettings {
  readonly id: string
  readonly projectId: string
  readonly position: string
}

/** Creates a subscription unless the project has reached the maximum number. */
export const insertSubscription = (s: NewSubscription, most: number) => sql<{ id: string }>`
  insert into subscription (id, project_id, name, url, filter, batch_size, give_up_after_ms, secret, key_id, position)
  select ${s.id}::uuid, ${s.projectId}::uuid, ${s.name}, ${s.url}, ${JSON.stringify(s.filter)}::jsonb, ${s.batchSize}::integer, ${s.giveUpAfterMs}::bigint,
         ${s.secret}, ${s.keyId}::text, ${s.position}
  where (select count(*) from subscription where project_id = ${s.projectId}) < ${most}::integer
  returning id`

/** Lists the subscriptions of a project, oldest first, or only the one with the given id. */
export const findSubscriptions = ({
  projectId,
  id = null,
  after = null,
  limit,
}: {
  projectId: string
  id?: string | null
  after?: string | null
  limit: number
}) => sql<SubscriptionRow>`
  select id, project_id as "projectId", name, url, filter, batch_size as "batchSize", give_up_after_ms as "giveUpAfterMs", secret, key_id as "keyId",
         created_at as "createdAt", updated_at as "updatedAt", position, fence, delivered, last_event_id as "lastEventId",
         last_event_at as "lastEventAt", failing_since as "failingSince", failures, case when isfinite(retry_at) then retry_at end as "retryAt",
         last_error as "lastError", disabled_at as "disabledAt", held, gap
  from subscription
  where project_id = ${projectId} and (${id}::uuid is null or id = ${id}::uuid) and (${after}::uuid is null or id > ${after}::uuid)
  order by id limit ${limit}`

/**
 * Changes the given settings, and makes failing deliveries due at once. The delivering node gets the new settings with its next
 * write. If deliveries are failing, that node also loses its lease: otherwise, a message still in flight to the old address
 * could fail and postpone the immediate retry.
 */
export const editSubscription = (
  { projectId, id }: { projectId: string; id: string },
  edit: Partial<SubscriptionSettings>,
) => sql<{ id: string }>`
  update subscription set
    name = case when ${edit.name !== undefined}::boolean then ${edit.name ?? null} else name end,
    url = coalesce(${edit.url ?? null}, url),
    filter = coalesce(${edit.filter === undefined ? null : JSON.stringify(edit.filter)}::jsonb, filter),
    batch_size = coalesce(${edit.batchSize ?? null}::integer, batch_size),
    give_up_after_ms = coalesce(${edit.giveUpAfterMs ?? null}::bigint, give_up_after_ms),
    secret = coalesce(${edit.secret ?? null}, secret),
    key_id = case when ${edit.secret ?? null}::text is null then key_id else ${edit.keyId ?? null}::text end,
    retry_at = '-infinity', updated_at = now(), held = try_held_again(held),
    fence = fence + case when held = '[]' and failures = 0 then 0 else 1 end
  where project_id = ${projectId} and id = ${id}
  returning id`

/** Locks a subscription against concurrent changes. */
export const lockSubscription = ({ projectId, id }: { projectId: string; id: string }) => sql<{ id: string }>`
  select id from subscription where project_id = ${projectId} and id = ${id} for update`

export const deleteSubscription = ({ projectId, id }: { projectId: string; id: string }) => sql<{
  id: string
}>`
  delete from subscription where project_id = ${projectId} and id = ${id} returning id`

/** Resumes a subscription, from where it stopped or from another position. A node that is delivering it loses its lease. */
export const resumeSubscription = ({
  projectId,
  id,
  position,
}: {
  projectId: string
  id: string
  position: string | null
}) => sql<{ id: string }>`
  update subscription set disabled_at = null, failing_since = null, failures = 0, retry_at = '-infinity', last_error = null,
    position = coalesce(${position}, position), held = case when ${position}::text is null then try_held_again(held) else '[]' end,
    gap = case when ${position}::text is null then gap end, fence = fence + 1, updated_at = now()
  where project_id = ${projectId} and id = ${id}
  returning id`
