import type { z } from 'zod'
import type {
  CreatedSubscription,
  Subscription,
  SubscriptionTest,
} from '../../api/resources/subscriptions/schemas.ts'
import { printable } from '../../core/values/printable.ts'
import { formatDistance } from '../../core/words/time.ts'
import { confirm } from '../client/confirm.ts'
import { findByName } from '../client/find-by-name.ts'
import { findTask } from '../client/find-task.ts'
import { readNumber } from '../client/flag-values.ts'
import { type ClientFlags, give, remark, serverFrom } from '../client/output.ts'
import { readLimit, readPages, remarkMore } from '../client/pages.ts'
import { cut, facts, table } from '../client/printed.ts'
import { namingAll } from '../client/refusal.ts'
import { EXIT } from '../exit.ts'
import { onStdout as c } from '../terminal.ts'

type Created = z.output<typeof CreatedSubscription>

const URL_WIDTH = 60
const NAME_WIDTH = 30
/** Maximum number of subscriptions that are searched for a name. */
const LOOKED_AT = 1_000

export async function listSubscriptions(flags: ClientFlags & { readonly limit: string }): Promise<void> {
  const server = serverFrom(flags)
  const listed = await readPages<Subscription>(server, '/v1/subscriptions', {}, readLimit(flags.limit))
  if (listed.items.length === 0 && !flags.json)
    return remark(
      'There are no subscriptions.\ntry:   belfry subscription create https://example.com/events\n',
    )
  give(listed.items, flags, () => subscriptionTable(listed.items, server.now()) + gapLines(listed.items))
  remarkMore(listed)
}

function subscriptionTable(items: readonly Subscription[], now: number): string {
  return table(
    ['NAME', 'URL', 'STATE', 'DELIVERED', 'LAST', 'ID'],
    items.map(({ name, url, state, lastError, delivered, lastEvent, id }) => [
      cut(printable(name ?? '–'), NAME_WIDTH),
      cut(printable(url), URL_WIDTH),
      state === 'active'
        ? c.green(state)
        : c.red(`${state}: ${cut(printable(lastError?.message ?? ''), URL_WIDTH)}`),
      String(delivered),
      lastEvent === null ? '–' : formatDistance(Date.parse(lastEvent.endedAt), now),
      id,
    ]),
  )
}

/** One line for each subscription that may have lost events. Servers of 0.1.0 do not say. */
const gapLines = (items: readonly Subscription[]): string =>
  items
    .flatMap(({ name, url, gap }) =>
      gap == null
        ? []
        : `${c.yellow('!')} ${cut(printable(name ?? url), URL_WIDTH)}: events from ${gap.from} to ${gap.to} may be missing; they were deleted before they were delivered\n`,
    )
    .join('')

/**
 * Filters and delivery settings of a subscription. The server generates the secret, since a typed secret would remain in the
 * shell history.
 */
export interface SubscribeFlags extends ClientFlags {
  readonly name?: string
  readonly task?: readonly string[]
  readonly event?: readonly string[]
  readonly action?: readonly string[]
  readonly state?: readonly string[]
  readonly tag?: readonly string[]
  readonly type?: readonly string[]
  readonly queue?: readonly string[]
  readonly owner?: readonly string[]
  readonly batchSize?: string
  readonly giveUpAfter?: string
  readonly after?: string
}

export async function createSubscription(url: string, flags: SubscribeFlags): Promise<void> {
  const server = serverFrom(flags)
  const { name, giveUpAfter, after, event, action, state, tag, type, queue, owner } = flags
  const tasks = await Promise.all((flags.task ?? []).map((ref) => findTask(server, ref)))
  const filter = {
    events: event,
    actions: action,
    states: state,
    taskIds: tasks.length === 0 ? undefined : tasks.map(({ id }) => id),
    tags: tag,
    types: type,
    queues: queue,
    owners: owner,
  }
  const batchSize = flags.batchSize === undefined ? undefined : readNumber(flags.batchSize)
  const made = await namingAll('belfry subscription create --help', () =>
    server.post<Created>('/v1/subscriptions', { url, name, filter, batchSize, giveUpAfter, after }),
  )
  give(made, flags, () => {
    const pairs: [string, string][] = [
      ['id', made.id],
      ['secret', `${made.secret}  ${c.dim('shown only once; it signs the events')}`],
    ]
    return `${c.green('✓')} events are sent to ${printable(made.url)}\n${facts(pairs)}`
  })
}

export async function resumeSubscription(
  ref: string,
  flags: ClientFlags & { readonly after?: string },
): Promise<void> {
  const { server, found } = await find(ref, flags)
  const { after } = flags
  const resumed = await namingAll('belfry subscription resume --help', () =>
    server.post<Subscription>(
      `/v1/subscriptions/${found.id}/resume`,
      after === undefined ? undefined : { after },
    ),
  )
  give(resumed, flags, () => `${c.green('✓')} ${printable(resumed.url)} receives events again\n`)
}

export async function testSubscription(ref: string, flags: ClientFlags): Promise<void> {
  const { server, found } = await find(ref, flags)
  const tested = await server.post<SubscriptionTest>(`/v1/subscriptions/${found.id}/test`, undefined)
  give(tested, flags, () => testedText(printable(found.url), tested))
  if (!tested.delivered) process.exitCode = EXIT.failed
}

function testedText(url: string, { eventId, delivered, status, body, durationMs, error }: SubscriptionTest) {
  const [mark, verb] = delivered ? [c.green('✓'), 'accepted'] : [c.red('✕'), 'did not accept']
  const said = cut(printable(body ?? '').trim(), URL_WIDTH)
  const pairs: [string, string][] = [
    ['id', eventId],
    ...(status === null ? [] : [['response', `HTTP ${status} in ${durationMs} ms`] as [string, string]]),
    ...(said === '' ? [] : [['body', said] as [string, string]]),
    ...(error === null ? [] : [['error', printable(error.message)] as [string, string]]),
  ]
  return `${mark} ${url} ${verb} a test event (belfry.test)\n${facts(pairs)}`
}

export async function removeSubscription(
  ref: string,
  flags: ClientFlags & { readonly yes?: boolean },
): Promise<void> {
  const { server, found } = await find(ref, flags)
  const title =
    found.name === null ? printable(found.url) : `${printable(found.name)}, ${printable(found.url)}`
  await confirm(`Remove the subscription ${title}? Undelivered events are discarded.`, flags)
  await server.ask('DELETE', `/v1/subscriptions/${found.id}`)
  give(found, flags, () => `${c.green('✓')} ${printable(found.url)} receives no more events\n`)
}

async function find(ref: string, flags: ClientFlags) {
  const server = serverFrom(flags)
  const { items } = await readPages<Subscription>(server, '/v1/subscriptions', {}, LOOKED_AT)
  const found = findByName('subscription', ref, items, ({ url }) => printable(url))
  return { server, found }
}
