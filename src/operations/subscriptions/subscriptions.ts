import { allows } from '../../core/access/role.ts'
import { maskedUrl } from '../../core/action/masked-action.ts'
import { formatSecret, makeSecret } from '../../core/action/webhook-signature.ts'
import { Refusal } from '../../core/errors.ts'
import { uuidv7 } from '../../core/ids.ts'
import { formatPosition } from '../../core/run/frontier.ts'
import { type EventFilter, sourceOf } from '../../core/run/history-event.ts'
import { durationMs } from '../../core/task/task.ts'
import { formatDuration } from '../../core/values/duration.ts'
import { utcOrNull } from '../../core/values/utc.ts'
import { sealSubscription } from '../../secrets/signing.ts'
import type { Queryable } from '../../store/database/database.ts'
import {
  deleteSubscription,
  editSubscription,
  findSubscriptions,
  insertSubscription,
  lockSubscription,
  resumeSubscription,
  type SubscriptionRow,
} from '../../store/events/subscriptions.ts'
import { currentPosition } from '../../store/history/current-position.ts'
import { lockProject } from '../../store/projects/projects.ts'
import { noteKey } from '../../store/secrets/keys.ts'
import { requireAccess } from '../access/require.ts'
import { recordChange } from '../audit-log/record-change.ts'
import type { Context } from '../context.ts'
import { positionAfter } from './position-after.ts'

export const MAX_SUBSCRIPTIONS = 100
const BATCH_SIZE = 1
const GIVE_UP_AFTER = '1d'

/** Settings of a subscription. Durations are text, such as `1d`. */
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

/** Converts ids to lower case, because they are compared as text. */
function plainFilter(filter: EventFilter | undefined): EventFilter {
  if (filter?.taskIds === undefined) return filter ?? {}
  return { ...filter, taskIds: filter.taskIds.map((id) => id.toLowerCase()) }
}

export async function createSubscription(context: Context, input: NewSubscription): Promise<SubscriptionRow> {
  const { db, projectId, vault } = context
  requireSource(context, input.filter)
  const id = uuidv7()
  const secret = input.secret ?? formatSecret(makeSecret())
  const stored = await sealSubscription(vault, db, { id, projectId }, secret)
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
    ...stored,
    position: formatPosition(position),
  }
  return db.transaction(async (tx) => {
    await tx.run(lockProject(projectId))
    if (stored.keyId !== null) await tx.run(noteKey(stored.keyId))
    const [made] = await tx.run(insertSubscription(subscription, MAX_SUBSCRIPTIONS))
    if (!made)
      throw new Refusal(
        'too_many_subscriptions',
        `The project has reached the limit of ${MAX_SUBSCRIPTIONS} subscriptions. Delete one first.`,
      )
    const row = await readSubscription(tx, projectId, id)
    await recordChange(tx, context, {
      action: 'subscription.create',
      subject: subjectOf(row),
      after: { ...recorded(row), position: row.position },
    })
    return { ...row, secret }
  })
}

/** Only a caller with access to the audit log may decide whether it is sent, from which position and where to. */
function requireSource(context: Context, filter: EventFilter | undefined): void {
  if (sourceOf(filter ?? {}) === 'audit-log') requireAccess(context, 'administer')
}

/** Whether the caller may change a subscription: not with a key limited to queues, and that to the audit log only as an admin. */
export const mayChange = (
  { grant, reach, projectId }: Pick<Context, 'grant' | 'reach' | 'projectId'>,
  { filter }: Pick<SubscriptionRow, 'filter'>,
): boolean =>
  reach.queues === null && allows(grant, projectId, sourceOf(filter) === 'audit-log' ? 'administer' : 'edit')

export const getSubscription = ({ db, projectId }: Context, id: string): Promise<SubscriptionRow> =>
  readSubscription(db, projectId, id)

async function readSubscription(tx: Queryable, projectId: string, id: string): Promise<SubscriptionRow> {
  const [row] = await tx.run(findSubscriptions({ projectId, id, limit: 1 }))
  return row ?? unknown(id)
}

const subjectOf = ({ id, name }: SubscriptionRow) => ({ kind: 'subscription', id, name }) as const

/**
 * Returns what the audit log records of a subscription. The path of the address is masked: an address may allow anyone who
 * knows it to post there, and audit log entries are permanent.
 */
const recorded = ({ name, url, filter, batchSize, giveUpAfterMs }: SubscriptionRow) => ({
  name,
  url: maskedUrl(url),
  filter,
  batchSize,
  giveUpAfter: formatDuration(giveUpAfterMs),
})

function unknown(id: string): never {
  throw new Refusal('not_found', `Subscription ${id} does not exist.`)
}

export async function changeSubscription(
  context: Context,
  id: string,
  input: SubscriptionSettings,
): Promise<SubscriptionRow> {
  const { db, projectId, vault } = context
  const { name, url, filter, batchSize, giveUpAfter, secret } = input
  const stored = secret === undefined ? null : await sealSubscription(vault, db, { id, projectId }, secret)
  const edit = {
    ...(name === undefined ? {} : { name }),
    ...(url === undefined ? {} : { url }),
    ...(filter === undefined ? {} : { filter: plainFilter(filter) }),
    ...(batchSize === undefined ? {} : { batchSize }),
    ...(giveUpAfter === undefined ? {} : { giveUpAfterMs: durationMs(giveUpAfter) }),
    ...stored,
  }
  return db.transaction(async (tx) => {
    await tx.run(lockSubscription({ projectId, id }))
    const before = await readSubscription(tx, projectId, id)
    if (stored?.keyId) await tx.run(noteKey(stored.keyId))
    for (const wanted of [before.filter, edit.filter]) requireSource(context, wanted)
    await tx.run(editSubscription({ projectId, id }, edit))
    const after = await readSubscription(tx, projectId, id)
    await recordChange(tx, context, {
      action: 'subscription.edit',
      subject: subjectOf(after),
      before: recorded(before),
      after: {
        ...recorded(after),
        ...(after.url === before.url ? {} : { hasNewUrl: true }),
        ...(after.secret === before.secret ? {} : { hasNewSecret: true }),
      },
    })
    return after
  })
}

export async function removeSubscription(context: Context, id: string): Promise<void> {
  const { db, projectId } = context
  await db.transaction(async (tx) => {
    await tx.run(lockSubscription({ projectId, id }))
    const before = await readSubscription(tx, projectId, id)
    requireSource(context, before.filter)
    await tx.run(deleteSubscription({ projectId, id }))
    await recordChange(tx, context, {
      action: 'subscription.delete',
      subject: subjectOf(before),
      before: recorded(before),
    })
  })
}

/** Resumes a subscription at once, at its position or at another one. */
export async function wakeSubscription(
  context: Context,
  id: string,
  after: string | undefined,
): Promise<SubscriptionRow> {
  const { db, projectId } = context
  const position = after === undefined ? null : formatPosition(positionAfter(after, '/after'))
  return db.transaction(async (tx) => {
    await tx.run(lockSubscription({ projectId, id }))
    const before = await readSubscription(tx, projectId, id)
    if (position !== null) requireSource(context, before.filter)
    await tx.run(resumeSubscription({ projectId, id, position }))
    const row = await readSubscription(tx, projectId, id)
    await recordChange(tx, context, {
      action: 'subscription.resume',
      subject: subjectOf(row),
      before: { disabledAt: utcOrNull(before.disabledAt), position: before.position },
      after: { disabledAt: null, position: row.position },
    })
    return row
  })
}
