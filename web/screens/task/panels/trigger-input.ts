/** Overrides for one run: the fields that the user changed. */
import { hasFixedInput } from '../../../../src/core/run/run-override.ts'
import type { Task, TriggerInput } from '../../../api/wire.ts'
import { jsonOrText, numberOf } from '../../../components/typed.ts'

/** The member of an action that a trigger can override. */
type Member = 'body' | 'payload' | 'stdin' | 'duration'

/** The overrides as form fields. */
export interface Otherwise {
  /** The member of the action that can be overridden; null if there is none. */
  readonly member: Member | null
  readonly content: string
  readonly timeout: string
  readonly retries: string
  readonly queue: string
  readonly priority: string
  readonly isBeside: boolean
}

export function otherwiseOf(task: Task): Otherwise {
  const { action, timeout, retry, queue, priority } = task
  const same = { timeout, retries: String(retry.limit), queue, priority: String(priority), isBeside: false }
  switch (action.type) {
    case 'webhook':
    case 'http':
      return { ...same, member: 'body', content: textOf(action.body) }
    case 'handler':
      return { ...same, member: 'payload', content: textOf(action.payload) }
    case 'exec':
      return hasFixedInput(action)
        ? { ...same, member: null, content: '' }
        : { ...same, member: 'stdin', content: textOf(action.stdin) }
    case 'sleep':
      return { ...same, member: 'duration', content: action.duration }
    default:
      return { ...same, member: null, content: '' }
  }
}

const textOf = (value: unknown): string => {
  if (value === undefined) return ''
  return typeof value === 'string' ? value : JSON.stringify(value, null, 2)
}

export function triggerInput(task: Task, before: Otherwise, after: Otherwise): TriggerInput {
  const { member } = after
  return {
    ...(member !== null && after.content !== before.content
      ? { action: { [member]: member === 'duration' ? after.content.trim() : jsonOrText(after.content) } }
      : {}),
    ...(after.timeout.trim() === task.timeout ? {} : { timeout: after.timeout.trim() }),
    ...(after.retries.trim() === String(task.retry.limit)
      ? {}
      : { retry: { limit: numberOf(after.retries) } }),
    ...(after.queue.trim() === task.queue ? {} : { queue: after.queue.trim() }),
    ...(after.priority.trim() === String(task.priority) ? {} : { priority: numberOf(after.priority) }),
    ...(after.isBeside ? { overlap: 'allow' as const } : {}),
  }
}
