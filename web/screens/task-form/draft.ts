/**
 * A task while somebody writes it: every field as the text that stands in its box. `inputOf` makes of it what
 * the API takes; the API alone decides whether it is right.
 */
import { TASK_DEFAULTS } from '../../../src/core/task/field-list.ts'
import type { ActionType, FoldPolicy, GapPolicy, HttpMethod, Schedule, Task } from '../../api/wire.ts'
import { myZone } from '../../time/zone.ts'
import { actionFields } from './draft-action.ts'
import { scheduleFields } from './draft-schedule.ts'

export interface Draft {
  readonly name: string
  readonly key: string
  readonly owner: string
  readonly tags: readonly string[]
  readonly action: ActionType
  readonly url: string
  readonly method: HttpMethod
  /** One header a line, as in a request. */
  readonly headers: string
  readonly body: string
  /** Statuses that count as success, apart by spaces or commas. */
  readonly expect: string
  readonly followRedirects: string
  readonly connectTimeout: string
  readonly firstByteTimeout: string
  readonly duration: string
  readonly handler: string
  readonly payload: string
  /** Recipients of an email, apart by commas or lines. */
  readonly to: string
  readonly cc: string
  readonly bcc: string
  readonly from: string
  readonly replyTo: string
  readonly subject: string
  /** The text of a message to Slack or of an email. */
  readonly message: string
  readonly html: string
  /** Blocks of a message to Slack, as JSON. */
  readonly blocks: string
  readonly when: Schedule['type'] | 'words'
  /** A schedule as people say it; the server reads it. */
  readonly words: string
  /** A schedule that the form shows and does not edit, as JSON. */
  readonly kept: string
  readonly interval: string
  /** An instant on the grid of a fixed rate. */
  readonly anchor: string
  /** An instant, as are the two bounds; the form shows them on the clock of `timezone`. */
  readonly at: string
  readonly expression: string
  readonly time: string
  readonly timezone: string
  readonly gap: GapPolicy
  readonly fold: FoldPolicy
  readonly startAt: string
  readonly endAt: string
  readonly maxRuns: string
  readonly jitter: string
  readonly retryLimit: string
  readonly retryInitial: string
  readonly retryMax: string
  readonly timeout: string
  readonly queueTimeout: string
  readonly overlap: Task['overlap']
  readonly misfirePolicy: Task['misfire']['policy']
  readonly misfireWindow: string
  readonly misfireCap: string
  readonly misfireRate: string
  readonly onWorkerLoss: Task['onWorkerLoss']
  readonly queue: string
  readonly priority: string
  readonly labels: readonly string[]
  readonly concurrencyKey: string
  readonly concurrencyLimit: string
  readonly tracingId: string
  /** An object as JSON; empty for none. */
  readonly metadata: string
  /** What was said as JSON and no field can show: it is sent as it is, in the place of what the fields say. */
  readonly raw: Readonly<Record<string, unknown>>
}

/** A new task: nothing is decided yet but the zone, which is the reader's own. */
export function emptyDraft(): Draft {
  const { retry, misfire, timeout, overlap, onWorkerLoss, queue, priority, concurrencyLimit } = TASK_DEFAULTS
  return {
    name: '',
    key: '',
    owner: '',
    tags: [],
    action: 'webhook',
    url: '',
    method: 'POST',
    headers: '',
    body: '',
    expect: '',
    followRedirects: '',
    connectTimeout: '',
    firstByteTimeout: '',
    duration: '1s',
    handler: '',
    payload: '',
    to: '',
    cc: '',
    bcc: '',
    from: '',
    replyTo: '',
    subject: '',
    message: '',
    html: '',
    blocks: '',
    when: 'daily',
    words: `every weekday at 9:00 (${myZone()})`,
    kept: '',
    interval: '1m',
    anchor: '',
    at: '',
    expression: '0 9 * * MON-FRI',
    time: '09:00',
    timezone: myZone(),
    gap: 'next',
    fold: 'first',
    startAt: '',
    endAt: '',
    maxRuns: '',
    jitter: '',
    retryLimit: String(retry.limit),
    retryInitial: retry.initial,
    retryMax: retry.max,
    timeout,
    queueTimeout: '',
    overlap,
    misfirePolicy: misfire.policy,
    misfireWindow: misfire.window,
    misfireCap: String(misfire.cap),
    misfireRate: String(misfire.rate),
    onWorkerLoss,
    queue,
    priority: String(priority),
    labels: [],
    concurrencyKey: '',
    concurrencyLimit: String(concurrencyLimit),
    tracingId: '',
    metadata: '',
    raw: {},
  }
}

export function draftOf(task: Task): Draft {
  return {
    ...emptyDraft(),
    name: task.name ?? '',
    key: task.key ?? '',
    owner: task.owner ?? '',
    tags: task.tags,
    ...actionFields(task.action),
    ...scheduleFields(task.schedule),
    startAt: task.startAt ?? '',
    endAt: task.endAt ?? '',
    maxRuns: task.maxRuns === null ? '' : String(task.maxRuns),
    jitter: task.jitter ?? '',
    retryLimit: String(task.retry.limit),
    retryInitial: task.retry.initial,
    retryMax: task.retry.max,
    timeout: task.timeout,
    queueTimeout: task.queueTimeout ?? '',
    overlap: task.overlap,
    misfirePolicy: task.misfire.policy,
    misfireWindow: task.misfire.window,
    misfireCap: String(task.misfire.cap),
    misfireRate: String(task.misfire.rate),
    onWorkerLoss: task.onWorkerLoss,
    queue: task.queue,
    priority: String(task.priority),
    labels: task.labels,
    concurrencyKey: task.concurrencyKey ?? '',
    concurrencyLimit: String(task.concurrencyLimit),
    tracingId: task.tracingId ?? '',
    metadata: metadataText(task.metadata),
  }
}

export const metadataText = (metadata: object): string =>
  Object.keys(metadata).length === 0 ? '' : JSON.stringify(metadata, null, 2)
