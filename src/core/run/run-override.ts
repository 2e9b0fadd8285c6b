/**
 * How one run differs from its task. A caller who triggers a run may change what is sent and how the run is carried out, but
 * not the destination of a request or the type of the action; these only an editor of the task may change.
 */
import type { Action, ActionType } from '../action/action.ts'
import { secretNamesOf } from '../secret/secret-reference.ts'
import type { KeptDefinition, OverlapPolicy, TaskDefinition } from '../task/task.ts'

/** The overridden fields, as they were given. */
export interface RunOverride {
  /** Members of the action that `overridableOf` names. */
  readonly action?: Readonly<Record<string, unknown>>
  readonly queue?: string
  readonly priority?: number
  readonly timeout?: string
  readonly retry?: Partial<TaskDefinition['retry']>
  readonly overlap?: OverlapPolicy
}

/** The members of each type of action that a run may override. */
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

/** The members of an action that a run may override. */
export const overridableOf = (action: Action): readonly string[] =>
  hasFixedInput(action) ? [] : OVERRIDABLE[action.type]

/** The input of a shell is a script, which could print the environment and the secrets that the program is given. */
export const hasFixedInput = (action: Action): boolean =>
  action.type === 'exec' && (Object.keys(action.env ?? {}).length > 0 || secretNamesOf(action) !== null)

/** Returns the definition that a run is performed with. Settings are merged member by member, headers name by name. */
export const applyOverride = (definition: TaskDefinition, override: RunOverride): TaskDefinition => ({
  ...overriddenSettings(definition, override),
  action: overriddenAction(definition.action, override.action ?? {}),
})

/** Applies the override except for the action. */
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

/** Header names are case-insensitive. */
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
