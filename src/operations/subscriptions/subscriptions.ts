import { formatSecret, makeSecret } from '../../core/action/webhook-signature.ts'
import { Refusal } from '../../core/errors.ts'
import { uuidv7 } from '../../core/ids.ts'
import { formatPosition } from '../../core/run/frontier.ts'
import type { EventFilter } from '../../core/run/run-event.ts'
import { durationMs } from '../../core/task/task.ts'
import {
  deleteSubscription,
  editSubscription,
  findSubscriptions,
  insertSubscription,
  resumeSubscription,
  type SubscriptionRow,
} from '../../store/events/subscriptions.ts'
import { currentPosition } from '../../store/history/current-position.ts'
import type { Context } from '../context.ts'
import { positionAfter } from './position-after.ts'

export const MAX_SUBSCRIPTIONS = 100
const BATCH_SIZE = 1
const GIVE_UP_AFTER = '1d'

/** What a subscription says. Durations are text, such as `1d`. */
interface SubscriptionSettings {
  readonly name?: string | null | undefined
  readonly url?: string | undefined
  readonly filter?: EventFilter | undefined
  readonly batchSize?: number | undefined
  readonly giveUpAfter?: string | undefined
  readonly secret?: string | undefined
}

/** A subscription to create. */
export interface NewSubscription extends SubscriptionSettings {
  readonly url: string
  /** An event id or an instant to begin after; default now. */
  readonly after?: string | undefined
}

/** Ids are compared as text, and text has its case. */
function plainFilter(filter: EventFilter | undefined): EventFilter {
  if (filter?.taskIds === undefined) return filter ?? {}
  return { ...filter, taskIds: filter.taskIds.map((id) => id.toLowerCase()) }
}

export async function createSubscription(context: Context, input: NewSubscription): Promise<SubscriptionRow> {
  const { db, projectId } = context
  const id = uuidv7()
  const position =
    input.after === undefined ? await currentPosition(db) : positionAfter(input.after, '/after')
  const subscription = {
    id,
    projectId,
    name: input.name ?? null,
    url: input.url,
    filter: plainFilter(input.filter),
    batchSize: input.batchSize ?? BATCH_SIZE,
    giveUpAfterMs: durationMs(input.giveUpAfter ?? GIVE_UP_AFTER),
    secret: input.secret ?? formatSecret(makeSecret()),
    position: formatPosition(position),
  }
  const [made] = await db.run(insertSubscription(subscription, MAX_SUBSCRIPTIONS))
  if (!made)
    throw new Refusal(
      'too_many_subscriptions',
      `The project has reached the limit of ${MAX_SUBSCRIPTIONS} subscriptions. Delete one first.`,
    )
  return getSubscription(context, id)
}

export async function getSubscription({ db, projectId }: Context, id: string): Promise<SubscriptionRow> {
  const [row] = await db.run(findSubscriptions({ projectId, id, limit: 1 }))
  return row ?? unknown(id)
}

function unknown(id: string): never {
  throw new Refusal('not_found', `Subscription ${id} does not exist.`)
}

export async function changeSubscription(
  context: Context,
  id: string,
  input: SubscriptionSettings,
): Promise<SubscriptionRow> {
  const { db, projectId } = context
  const { name, url, filter, batchSize, giveUpAfter, secret } = input
  const edit = {
    ...(name === undefined ? {} : { name }),
    ...(url === undefined ? {} : { url }),
    ...(filter === undefined ? {} : { filter: plainFilter(filter) }),
    ...(batchSize === undefined ? {} : { batchSize }),
    ...(giveUpAfter === undefined ? {} : { giveUpAfterMs: durationMs(giveUpAfter) }),
    ...(secret === undefined ? {} : { secret }),
  }
  const [changed] = await db.run(editSubscription({ projectId, id }, edit))
  return changed ? getSubscription(context, id) : unknown(id)
}

export async function removeSubscription({ db, projectId }: Context, id: string): Promise<void> {
  const [removed] = await db.run(deleteSubscription({ projectId, id }))
  if (!removed) unknown(id)
}

/** Goes on where it stopped, or elsewhere, at once. */
export async function wakeSubscription(
  context: Context,
  id: string,
  after: string | undefined,
): Promise<SubscriptionRow> {
  const { db, projectId } = context
  const position = after === undefined ? null : formatPosition(positionAfter(after, '/after'))
  const [woken] = await db.run(resumeSubscription({ projectId, id, position }))
  return woken ? getSubscription(context, id) : unknown(id)
}
