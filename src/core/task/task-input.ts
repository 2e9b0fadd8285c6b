/**
 * Requests to create, replace or edit a task, and how they become a task, in the same way for all fields. The caller, such as
 * the API, has validated each field.
 */
import type { GivenValue, Setting } from './field-kinds.ts'
import { DEFINITION_FIELDS, defaultOf, FIELD_LIST, TASK_DEFAULTS } from './field-list.ts'
import type { FieldName, TaskFields } from './fields.ts'
import type { DefinedFields, TaskDefinition } from './task.ts'

/** A task to create. Only the action is required. */
export type TaskInput = { readonly action: GivenValue<TaskFields['action']> } & {
  readonly [Name in Exclude<FieldName, 'action'>]?: GivenValue<TaskFields[Name]> | undefined
}

/** A task to be made, and in which state: that is no field of it, so no version and no edit has it. */
export type TaskCreation = TaskInput & {
  /** Whether it is paused from the start: nothing of it is due until somebody resumes it. */
  readonly paused?: boolean | undefined
}

/** A change to a task: the fields to change. */
export type TaskEdit = {
  readonly [Name in FieldName]?: GivenValue<TaskFields[Name]> | undefined
} & {
  /** The reason for the change, which is stored with the resulting version. */
  readonly reason?: string | undefined
}

type Values = Record<string, unknown>

/** The value of a field after an input: objects are merged member by member, other values are replaced. */
function merged({ kind }: Setting, before: unknown, given: unknown): unknown {
  if (given === undefined) return before
  if (kind.type === 'list') return [...new Set(given as readonly string[])]
  return kind.type === 'object' ? withMembers(before as Values, given as Values) : given
}

function withMembers(before: Values, given: Values): Values {
  const members = { ...before }
  for (const name in given) if (given[name] !== undefined) members[name] = given[name]
  return members
}

/** Members of a definition that the caller determines, including the action and schedule in their stored form. */
type Settled = Pick<TaskDefinition, 'action' | 'schedule' | 'anchorAt' | 'seed' | 'secrets'>
type Origin = Pick<TaskDefinition, 'projectId' | 'traceparent'>

const BY_NAME = new Map<string, Setting>(DEFINITION_FIELDS.map((field) => [field.name, field]))

const DEFAULTS: Values = TASK_DEFAULTS

/** A definition with the defaults, with all members present so that all definitions have the same shape. */
const BLANK = {
  ...Object.fromEntries(DEFINITION_FIELDS.map(({ name }) => [name, DEFAULTS[name]])),
  anchorAt: '',
  seed: null,
  projectId: '',
  traceparent: null,
  secrets: null,
} as unknown as TaskDefinition

/** Returns the definition of a new task. */
export const definedBy = (input: TaskInput, settled: Settled & Origin): TaskDefinition =>
  changed(BLANK, input, settled)

/** Returns a definition after an edit. Fields that the edit does not name remain unchanged. */
export const editedBy = (before: TaskDefinition, edit: TaskEdit, settled: Settled): TaskDefinition =>
  changed(before, edit, settled)

/**
 * The copy is changed in place, because spreading an object a second time costs thirty microseconds, ten times as much as all
 * of this, and one request may create ten thousand tasks.
 */
function changed(before: TaskDefinition, given: TaskEdit, settled: Settled): TaskDefinition {
  const after: Values = { ...before }
  for (const name in given) {
    const field = BY_NAME.get(name)
    if (field) after[name] = merged(field, after[name], given[name as keyof TaskEdit])
  }
  return Object.assign(after, settled) as unknown as TaskDefinition
}

/** Returns an edit that replaces everything except the key: fields that the input does not name get their default. */
export function replacedBy({ key: _, ...input }: TaskInput): TaskEdit {
  const edit: Values = {}
  for (const field of FIELD_LIST)
    if (field.name !== 'key')
      edit[field.name] = merged(field, defaultOf(field), (input as TaskEdit)[field.name])
  return edit as TaskEdit
}

const TIMING = FIELD_LIST.filter(({ isTiming }) => isTiming).map(({ name }) => name)

/** Whether an edit may change when the task is due. */
export const isRetiming = (edit: TaskEdit): boolean => TIMING.some((name) => edit[name] !== undefined)

/** The fields that decide when a task is due. */
export const timingOf = (definition: DefinedFields): unknown[] =>
  TIMING.map((name) => definition[name as keyof DefinedFields])

/** Removes members that are present but undefined, which would override a default. */
export function defined<T extends object>(
  value: T | undefined,
): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(value ?? {}).filter(([, member]) => member !== undefined)) as {
    [K in keyof T]?: Exclude<T[K], undefined>
  }
}
