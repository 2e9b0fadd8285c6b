/** What a draft asks of the API: all of it, what differs from the defaults, or what was changed. */
import type { TaskInput } from '../../api/wire.ts'
import { isSame } from '../../components/differences.ts'
import { jsonOrText, numberOf } from '../../components/typed.ts'
import { type Draft, emptyDraft } from './draft.ts'
import { actionOf } from './draft-action.ts'
import { scheduleOf } from './draft-schedule.ts'

/** Everything the form decides, each field with its value, also where that is the default. */
export function fullInput(draft: Draft): TaskInput {
  return {
    name: orNull(draft.name),
    key: orNull(draft.key),
    owner: orNull(draft.owner),
    action: actionOf(draft) as TaskInput['action'],
    schedule: scheduleOf(draft) as TaskInput['schedule'],
    startAt: orNull(draft.startAt),
    endAt: orNull(draft.endAt),
    maxRuns: draft.maxRuns.trim() === '' ? null : numberOf(draft.maxRuns),
    jitter: orNull(draft.jitter),
    overlap: draft.overlap,
    misfire: {
      policy: draft.misfirePolicy,
      window: draft.misfireWindow.trim(),
      cap: numberOf(draft.misfireCap),
      rate: numberOf(draft.misfireRate),
    },
    retry: {
      limit: numberOf(draft.retryLimit),
      initial: draft.retryInitial.trim(),
      max: draft.retryMax.trim(),
    },
    timeout: draft.timeout.trim(),
    queueTimeout: orNull(draft.queueTimeout),
    onWorkerLoss: draft.onWorkerLoss,
    queue: draft.queue.trim(),
    priority: numberOf(draft.priority),
    labels: [...draft.labels],
    concurrencyKey: orNull(draft.concurrencyKey),
    concurrencyLimit: numberOf(draft.concurrencyLimit),
    tags: [...draft.tags],
    metadata: draft.metadata.trim() === '' ? {} : (jsonOrText(draft.metadata) as Record<string, unknown>),
    tracingId: orNull(draft.tracingId),
    ...draft.raw,
  }
}

const orNull = (text: string): string | null => (text.trim() === '' ? null : text.trim())

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
