/**
 * A task while somebody writes it: every field as the text that stands in its box. `inputOf` makes of it what
 * the API takes; the API alone decides whether it is right.
 */
import { TASK_DEFAULTS } from '../../../src/core/task.ts'
import type {
  Action,
  ActionType,
  FoldPolicy,
  GapPolicy,
  HttpMethod,
  Schedule,
  Task,
  TaskInput,
} from '../../api/wire.ts'
import { myZone } from '../../time/zone.ts'

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
  readonly duration: string
  readonly handler: string
  readonly payload: string
  /** Recipients of an email, apart by commas or lines. */
  readonly to: string
  readonly subject: string
  /** The text of a message to Slack or of an email. */
  readonly message: string
  /** What else an action says, as JSON with its type: the form does not show it, and keeps it as it was. */
  readonly keptOfAction: string
  readonly when: Schedule['type'] | 'words'
  /** A schedule as people say it; the server reads it. */
  readonly words: string
  /** A schedule that the form shows and does not edit, as JSON. */
  readonly kept: string
  readonly interval: string
  /** Where the grid of a fixed rate goes through; kept as it was. */
  readonly anchor: string
  /** Wall time of this browser, as its date field has it. */
  readonly at: string
  readonly expression: string
  readonly time: string
  readonly timezone: string
  readonly gap: GapPolicy
  readonly fold: FoldPolicy
  readonly startAt: string
  readonly endAt: string
  readonly maxRuns: string
  readonly retryLimit: string
  readonly retryInitial: string
  readonly retryMax: string
  readonly timeout: string
  readonly overlap: Task['overlap']
  readonly misfirePolicy: Task['misfire']['policy']
  readonly misfireWindow: string
  readonly onWorkerLoss: Task['onWorkerLoss']
  readonly queue: string
  readonly priority: string
  readonly labels: readonly string[]
  readonly concurrencyKey: string
  readonly concurrencyLimit: string
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
    duration: '1s',
    handler: '',
    payload: '',
    to: '',
    subject: '',
    message: '',
    keptOfAction: '',
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
    retryLimit: String(retry.limit),
    retryInitial: retry.initial,
    retryMax: retry.max,
    timeout,
    overlap,
    misfirePolicy: misfire.policy,
    misfireWindow: misfire.window,
    onWorkerLoss,
    queue,
    priority: String(priority),
    labels: [],
    concurrencyKey: '',
    concurrencyLimit: String(concurrencyLimit),
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
    keptOfAction: keptOf(task.action),
    ...scheduleFields(task.schedule),
    startAt: localOf(task.startAt),
    endAt: localOf(task.endAt),
    maxRuns: task.maxRuns === null ? '' : String(task.maxRuns),
    retryLimit: String(task.retry.limit),
    retryInitial: task.retry.initial,
    retryMax: task.retry.max,
    timeout: task.timeout,
    overlap: task.overlap,
    misfirePolicy: task.misfire.policy,
    misfireWindow: task.misfire.window,
    onWorkerLoss: task.onWorkerLoss,
    queue: task.queue,
    priority: String(task.priority),
    labels: task.labels,
    concurrencyKey: task.concurrencyKey ?? '',
    concurrencyLimit: String(task.concurrencyLimit),
  }
}

function actionFields(action: Action): Partial<Draft> {
  switch (action.type) {
    case 'sleep':
      return { action: 'sleep', duration: action.duration }
    case 'handler':
      return { action: 'handler', handler: action.name, payload: payloadText(action.payload) }
    case 'ping':
      return { action: 'ping', url: action.url }
    case 'webhook':
      return { action: 'webhook', url: action.url, body: bodyText(action.body) }
    case 'http':
      return {
        action: 'http',
        url: action.url,
        method: action.method,
        headers: Object.entries(action.headers ?? {})
          .map(([name, value]) => `${name}: ${value}`)
          .join('\n'),
        body: bodyText(action.body),
        expect: (action.expect ?? []).join(', '),
      }
    case 'slack':
      return { action: 'slack', url: action.url, message: action.text ?? '' }
    case 'email':
      return {
        action: 'email',
        to: typeof action.to === 'string' ? action.to : action.to.join('\n'),
        subject: action.subject,
        message: action.text ?? '',
      }
  }
}

const payloadText = (payload: unknown): string =>
  payload === undefined ? '' : JSON.stringify(payload, null, 2)

/** Members that have a field in the form, over all actions. */
const SHOWN = [
  'url',
  'method',
  'headers',
  'body',
  'expect',
  'duration',
  'to',
  'subject',
  'text',
  'name',
  'payload',
]

function keptOf(action: Action): string {
  const kept = Object.entries(action).filter(([name]) => !SHOWN.includes(name))
  return kept.length > 1 ? JSON.stringify(Object.fromEntries(kept)) : ''
}

function keptFor({ action, keptOfAction }: Draft): object {
  const kept = keptOfAction === '' ? {} : (JSON.parse(keptOfAction) as { type?: string })
  return 'type' in kept && kept.type === action ? kept : {}
}

const bodyText = (body: unknown): string => {
  if (body === undefined) return ''
  return typeof body === 'string' ? body : JSON.stringify(body, null, 2)
}

function scheduleFields(schedule: Schedule): Partial<Draft> {
  switch (schedule.type) {
    case 'once':
      return { when: 'once', at: localOf(schedule.at) }
    case 'every':
      return { when: 'every', interval: schedule.interval, anchor: schedule.anchor ?? '' }
    case 'delay':
      return { when: 'delay', interval: schedule.interval }
    case 'cron':
      return { when: 'cron', expression: schedule.expression, ...wallClock(schedule) }
    case 'daily':
      return { when: 'daily', time: `${two(schedule.hour)}:${two(schedule.minute)}`, ...wallClock(schedule) }
    case 'manual':
      return { when: 'manual' }
    case 'dates':
    case 'several':
      return { when: schedule.type, kept: JSON.stringify(schedule, null, 2) }
  }
}

const two = (value: number) => String(value).padStart(2, '0')

const wallClock = ({
  timezone,
  gap = 'next',
  fold = 'first',
}: {
  timezone: string
  gap?: GapPolicy
  fold?: FoldPolicy
}) => ({
  timezone,
  gap,
  fold,
})

/** An instant as the date field of this browser shows it. */
export function localOf(at: string | null): string {
  if (at === null) return ''
  const date = new Date(at)
  const wall = new Date(date.getTime() - date.getTimezoneOffset() * 60_000)
  return wall.toISOString().slice(0, date.getTime() % 60_000 === 0 ? 16 : 23)
}

/** What that date field stands for; text that is no date goes as it is, so that the API says so. */
function instantOf(local: string): string {
  const date = new Date(local)
  return Number.isNaN(date.getTime()) ? local : date.toISOString()
}

export function scheduleOf(draft: Draft): Schedule | string {
  const { timezone, gap, fold } = draft
  const daylightSaving = { ...(gap === 'next' ? {} : { gap }), ...(fold === 'first' ? {} : { fold }) }
  switch (draft.when) {
    case 'once':
      return { type: 'once', at: instantOf(draft.at) }
    case 'every': {
      const anchor = draft.anchor === '' ? {} : { anchor: draft.anchor }
      return { type: 'every', interval: draft.interval.trim(), ...anchor }
    }
    case 'delay':
      return { type: 'delay', interval: draft.interval.trim() }
    case 'cron':
      return { type: 'cron', expression: draft.expression.trim(), timezone, ...daylightSaving }
    case 'daily': {
      const [hour = '', minute = ''] = draft.time.split(':')
      return { type: 'daily', hour: Number(hour), minute: Number(minute), timezone, ...daylightSaving }
    }
    case 'words':
      return draft.words.trim()
    case 'manual':
      return { type: 'manual' }
    case 'dates':
    case 'several':
      return JSON.parse(draft.kept) as Schedule
  }
}

export function actionOf(draft: Draft): Action {
  const url = draft.url.trim()
  const body = draft.body.trim() === '' ? {} : { body: jsonOrText(draft.body) }
  switch (draft.action) {
    case 'sleep':
      return { type: 'sleep', duration: draft.duration.trim() }
    case 'handler': {
      const payload = draft.payload.trim() === '' ? {} : { payload: jsonOrText(draft.payload) }
      return { type: 'handler', name: draft.handler.trim(), ...payload }
    }
    case 'ping':
      return { type: 'ping', url }
    case 'webhook':
      return { type: 'webhook', url, ...body }
    case 'http':
      return {
        type: 'http',
        url,
        method: draft.method,
        ...headersOf(draft.headers),
        ...body,
        ...expectOf(draft.expect),
        ...keptFor(draft),
      }
    case 'slack':
      return { type: 'slack', url, ...messageOf(draft), ...keptFor(draft) }
    case 'email': {
      const to = draft.to.split(/[,;\n]/).flatMap((address) => address.trim() || [])
      const recipients = to.length === 1 ? (to[0] ?? '') : to
      return {
        type: 'email',
        to: recipients,
        subject: draft.subject.trim(),
        ...messageOf(draft),
        ...keptFor(draft),
      }
    }
  }
}

const messageOf = ({ message }: Draft) => (message.trim() === '' ? {} : { text: message })

/** The API sends text as it is and everything else as JSON, so both come out as they were typed. */
function jsonOrText(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

function headersOf(text: string): { headers?: Record<string, string> } {
  const lines = text.split('\n').filter((line) => line.trim() !== '')
  if (lines.length === 0) return {}
  const headers = lines.map((line) => {
    const colon = line.indexOf(':')
    return colon < 0 ? [line.trim(), ''] : [line.slice(0, colon).trim(), line.slice(colon + 1).trim()]
  })
  return { headers: Object.fromEntries(headers) }
}

function expectOf(text: string): { expect?: (string | number)[] } {
  const statuses = text.split(/[\s,]+/).filter((status) => status !== '')
  if (statuses.length === 0) return {}
  return { expect: statuses.map((status) => (/^\d+$/.test(status) ? Number(status) : status)) }
}

/** Everything the form decides, each field with its value, also where that is the default. */
export function fullInput(draft: Draft): TaskInput {
  return {
    name: orNull(draft.name),
    key: orNull(draft.key),
    owner: orNull(draft.owner),
    action: actionOf(draft) as TaskInput['action'],
    schedule: scheduleOf(draft) as TaskInput['schedule'],
    startAt: draft.startAt === '' ? null : instantOf(draft.startAt),
    endAt: draft.endAt === '' ? null : instantOf(draft.endAt),
    maxRuns: draft.maxRuns.trim() === '' ? null : numberOf(draft.maxRuns),
    overlap: draft.overlap,
    misfire: { policy: draft.misfirePolicy, window: draft.misfireWindow.trim() },
    retry: {
      limit: numberOf(draft.retryLimit),
      initial: draft.retryInitial.trim(),
      max: draft.retryMax.trim(),
    },
    timeout: draft.timeout.trim(),
    onWorkerLoss: draft.onWorkerLoss,
    queue: draft.queue.trim(),
    priority: numberOf(draft.priority),
    labels: [...draft.labels],
    concurrencyKey: orNull(draft.concurrencyKey),
    concurrencyLimit: numberOf(draft.concurrencyLimit),
    tags: [...draft.tags],
  }
}

const orNull = (text: string): string | null => (text.trim() === '' ? null : text.trim())

/** Text that is no number goes as it is: the API names the field and what would be right. */
const numberOf = (text: string): number => {
  const number = Number(text)
  return text.trim() === '' || Number.isNaN(number) ? (text as unknown as number) : number
}

/** What to send for a new task: the fields that say something. */
export function inputOf(draft: Draft): TaskInput {
  const full = fullInput(draft)
  const usual = fullInput({ ...emptyDraft(), action: draft.action })
  const said = Object.entries(full).filter(
    ([field, value]) => ALWAYS.includes(field) || !isSame(value, usual[field as keyof TaskInput]),
  )
  return Object.fromEntries(said) as TaskInput
}

const ALWAYS = ['action', 'schedule']

/** What to send for a task that exists: the fields whose value is another one now. */
export function changesOf(before: Draft, after: Draft): Partial<TaskInput> {
  const old = fullInput(before)
  const changed = Object.entries(fullInput(after)).filter(
    ([field, value]) => !isSame(value, old[field as keyof TaskInput]),
  )
  return Object.fromEntries(changed)
}

export const isSame = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other)
