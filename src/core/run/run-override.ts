/**
 * What one run does otherwise than its task says. Whoever triggers a run may change what is sent and how it is
 * carried, and nothing else: where a request goes, and what kind of action it is, remains the word of whoever
 * defined the task.
 */
import type { Action, ActionType } from '../action/action.ts'
import type { KeptDefinition, OverlapPolicy, TaskDefinition } from '../task/task.ts'

/** The fields that were named, as they were named. */
export interface RunOverride {
  /** Members of the action that `OVERRIDABLE` names for its type. */
  readonly action?: Readonly<Record<string, unknown>>
  readonly queue?: string
  readonly priority?: number
  readonly timeout?: string
  readonly retry?: Partial<TaskDefinition['retry']>
  readonly overlap?: OverlapPolicy
}

/** Members of each type of action that a run may have otherwise. */
export const OVERRIDABLE: Readonly<Record<ActionType, readonly string[]>> = {
  ping: [],
  webhook: ['body'],
  http: ['headers', 'body'],
  slack: ['text', 'blocks'],
  email: ['subject', 'text', 'html'],
  sleep: ['duration'],
  handler: ['payload'],
  exec: ['stdin'],
}

/** What the run is performed as. Settings are merged member by member, headers name by name. */
export const applyOverride = (definition: TaskDefinition, override: RunOverride): TaskDefinition => ({
  ...overriddenSettings(definition, override),
  action: overriddenAction(definition.action, override.action ?? {}),
})

/** The same without what is done to the action. */
export function overriddenSettings<Definition extends KeptDefinition>(
  definition: Definition,
  override: RunOverride,
): Definition {
  const { queue, priority, timeout, overlap } = definition
  return {
    ...definition,
    queue: override.queue ?? queue,
    priority: override.priority ?? priority,
    timeout: override.timeout ?? timeout,
    retry: { ...definition.retry, ...override.retry },
    overlap: override.overlap ?? overlap,
  }
}

function overriddenAction(action: Action, members: Readonly<Record<string, unknown>>): Action {
  const headers =
    action.type === 'http' && isRecord(members['headers'])
      ? { headers: mergedHeaders(action.headers ?? {}, members['headers']) }
      : {}
  return { ...action, ...members, ...headers } as Action
}

/** Names of headers are the same in any case. */
function mergedHeaders(
  before: Readonly<Record<string, string>>,
  named: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const replaced = new Set(Object.keys(named).map((name) => name.toLowerCase()))
  const kept = Object.entries(before).filter(([name]) => !replaced.has(name.toLowerCase()))
  return { ...Object.fromEntries(kept), ...named }
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
