/** Overrides of a task for one run, checked against the task. */

import type { Action as StoredAction } from '../../core/action/action.ts'
import { unmaskedOverride } from '../../core/action/unmasked-action.ts'
import { invalidInput, MAX_PROBLEMS } from '../../core/errors.ts'
import { applyOverride, hasFixedInput, overridableOf, type RunOverride } from '../../core/run/run-override.ts'
import { namesInValue } from '../../core/secret/secret-reference.ts'
import type { TaskDefinition } from '../../core/task/task.ts'
import { defined } from '../../core/task/task-input.ts'
import { jsonPointer } from '../../core/values/json-pointer.ts'
import { Action } from '../tasks/action-schema.ts'
import { refuseShrinking } from '../tasks/define-task.ts'
import { parse } from '../validation/parse.ts'

/** An override as requested: fields that it omits, or that are undefined, stay as the task has them. */
export type WantedOverride = { readonly [Name in keyof RunOverride]?: Wanted<RunOverride[Name]> }
type Wanted<T> =
  T extends Partial<TaskDefinition['retry']>
    ? { readonly [Name in keyof T]?: T[Name] | undefined } | undefined
    : T | undefined

/** Returns the requested override; null if it changes nothing. Throws if the task does not allow it. */
export function overrideOf(definition: TaskDefinition, asked: WantedOverride): RunOverride | null {
  const override = withoutEmpty({ ...(asked as RunOverride), retry: defined(asked.retry) })
  if (Object.keys(override).length === 0) return null
  if (override.action !== undefined) refuseOtherMembers(definition.action, override.action)
  const { value: unmasked, problems } = unmaskedOverride(override, definition.action)
  if (problems.length > 0) throw invalidInput(problems)
  const performed = applyOverride(definition, unmasked)
  const parsed = parse(Action, performed.action, 'body')
  if (!parsed.ok)
    throw invalidInput(
      parsed.problems.map((problem) => ({ ...problem, pointer: `/action${problem.pointer}` })),
    )
  refuseMovedSecrets({ ...definition.action }, unmasked.action ?? {})
  refuseShrinking(performed.retry)
  return unmasked
}

type Members = Readonly<Record<string, unknown>>

/**
 * A caller who may only trigger a task must not read its secrets, and would if a token of a header could be sent in the body
 * as well. Each field can therefore refer only to the secrets that the same field of the task refers to.
 */
function refuseMovedSecrets(stored: Members, members: Members): void {
  const before = new Map(fieldsOf(stored).map(({ name, value }) => [name, namesInValue(value)]))
  const problems = fieldsOf(members).flatMap(({ name, path, value }) =>
    namesInValue(value)
      .filter((secret) => !before.get(name)?.includes(secret))
      .map((secret) => ({
        pointer: jsonPointer(['action', ...path]),
        detail: `refers to the secret ${secret}, but ${name} of the task does not; an override can only use secrets where the task does`,
      })),
  )
  if (problems.length > 0) throw invalidInput(problems.slice(0, MAX_PROBLEMS))
}

/** The members of an action, and in place of its headers each of them. Header names are case-insensitive. */
const fieldsOf = ({ headers = {}, ...others }: Members) => [
  ...Object.entries(others).map(([name, value]) => ({ name, path: [name], value })),
  ...Object.entries(headers as Members).map(([name, value]) => ({
    name: `the header ${name.toLowerCase()}`,
    path: ['headers', name],
    value,
  })),
]

/** Drops fields that change nothing. */
const withoutEmpty = (override: RunOverride): RunOverride =>
  Object.fromEntries(
    Object.entries(defined(override)).filter(
      ([, value]) => typeof value !== 'object' || Object.keys(value).length > 0,
    ),
  )

function refuseOtherMembers(action: StoredAction, members: Members): void {
  const allowed = overridableOf(action)
  const others = Object.keys(members).filter((name) => !allowed.includes(name))
  if (others.length === 0) return
  const detail = `cannot be overridden; ${reasonOf(action, allowed)}`
  throw invalidInput(
    others.slice(0, MAX_PROBLEMS).map((name) => ({ pointer: jsonPointer(['action', name]), detail })),
  )
}

function reasonOf(action: StoredAction, allowed: readonly string[]): string {
  if (hasFixedInput(action))
    return 'the program has environment variables or secrets, which it could be made to disclose with another input'
  return `${allowed.length === 0 ? 'no field' : `only ${allowed.join(' and ')}`} of a ${action.type} action can`
}
