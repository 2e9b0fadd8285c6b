import type { CreateSubscription, EditSubscription } from '../../api/resources/subscriptions/schemas.ts'
import { formatSecret, makeSecret } from '../../core/action/webhook-signature.ts'
import { Refusal } from '../../core/errors.ts'
import { uuidv7 } from '../../core/ids.ts'
import { formatPosition } from '../../core/run/frontier.ts'
import type { EventFilter } from '../../core/run/run-event.ts'
import { durationMs } from '../../core/task/task.ts'
import { currentPosition } from '../../events/history-tail.ts'
import {
  deleteSubscription,
  editSubscription,
  findSubscriptions,
  insertSubscription,
  resumeSubscription,
  type SubscriptionRow,
} from '../../store/events/subscriptions.ts'
import type { Context } from '../context.ts'
import { positionAfter } from './position-after.ts'

export const MAX_SUBSCRIPTIONS = 100
const BATCH_SIZE = 1
const GIVE_UP_AFTER = '1d'

/** Ids are compared as text, and text has its case. */
function plainFilter(filter: CreateSubscription['filter']): EventFilter {
  if (filter?.taskIds === undefined) return filter ?? {}
  return { ...filter, taskIds: filter.taskIds.map((id) => id.toLowerCase()) }
}

export async function createSubscription(
  context: Context,
  input: CreateSubscription,
): Promise<SubscriptionRow> {
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
  input: EditSubscription,
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
