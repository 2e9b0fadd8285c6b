/**
 * What may be asked of a task: to be made, replaced or edited. Whoever asks, the API or anything else, has checked each
 * field for itself; how what was asked becomes a task is decided here, the same for all fields.
 */
import type { GivenValue, Setting } from './field-kinds.ts'
import { DEFINITION_FIELDS, defaultOf, FIELD_LIST, TASK_DEFAULTS } from './field-list.ts'
import type { FieldName, TaskFields } from './fields.ts'
import type { DefinedFields, TaskDefinition } from './task.ts'

/** A task to be made. Everything but the action may be left out. */
export type TaskInput = { readonly action: GivenValue<TaskFields['action']> } & {
  readonly [Name in Exclude<FieldName, 'action'>]?: GivenValue<TaskFields[Name]> | undefined
}

/** A task to be made, and in which state: that is no field of it, so no version and no edit has it. */
export type TaskCreation = TaskInput & {
  /** Whether it is paused from the start: nothing of it is due until somebody resumes it. */
  readonly paused?: boolean | undefined
}

/** A change of a task: the fields that it names. */
export type TaskEdit = {
  readonly [Name in FieldName]?: GivenValue<TaskFields[Name]> | undefined
} & {
  /** Why it is changed, kept with the version that comes of it. */
  readonly reason?: string | undefined
}

type Values = Record<string, unknown>

/** What a field becomes when a value is given for it: objects are merged member by member, everything else replaced. */
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

/** What is settled about a definition, whatever was asked for; its action and schedule as they are stored. */
type Settled = Pick<TaskDefinition, 'action' | 'schedule' | 'anchorAt' | 'seed' | 'secrets'>
type Origin = Pick<TaskDefinition, 'projectId' | 'traceparent'>

const BY_NAME = new Map<string, Setting>(DEFINITION_FIELDS.map((field) => [field.name, field]))

const DEFAULTS: Values = TASK_DEFAULTS

/** A definition of which nothing was decided, with all its members, so that all definitions are of one shape. */
const BLANK = {
  ...Object.fromEntries(DEFINITION_FIELDS.map(({ name }) => [name, DEFAULTS[name]])),
  anchorAt: '',
  seed: null,
  projectId: '',
  traceparent: null,
  secrets: null,
} as unknown as TaskDefinition

/** The definition of a task to be made. */
export const definedBy = (input: TaskInput, settled: Settled & Origin): TaskDefinition =>
  changed(BLANK, input, settled)

/** A definition after an edit: what the edit does not name stays as it is. */
export const editedBy = (before: TaskDefinition, edit: TaskEdit, settled: Settled): TaskDefinition =>
  changed(before, edit, settled)

/**
 * Ten thousand tasks are made by one call: the copy is changed in place, because an object that is spread a second time
 * costs thirty microseconds, ten times as much as all of this.
 */
function changed(before: TaskDefinition, given: TaskEdit, settled: Settled): TaskDefinition {
  const after: Values = { ...before }
  for (const name in given) {
    const field = BY_NAME.get(name)
    if (field) after[name] = merged(field, after[name], given[name as keyof TaskEdit])
  }
  return Object.assign(after, settled) as unknown as TaskDefinition
}

/** An edit that leaves nothing as it was but the key: what the input does not name goes back to its default. */
export function replacedBy({ key: _, ...input }: TaskInput): TaskEdit {
  const edit: Values = {}
  for (const field of FIELD_LIST)
    if (field.name !== 'key')
      edit[field.name] = merged(field, defaultOf(field), (input as TaskEdit)[field.name])
  return edit as TaskEdit
}

const TIMING = FIELD_LIST.filter(({ isTiming }) => isTiming).map(({ name }) => name)

/** Whether an edit may change when the task is due, and not only what it does. */
export const isRetiming = (edit: TaskEdit): boolean => TIMING.some((name) => edit[name] !== undefined)

/** The fields that decide when a task is due. */
export const timingOf = (definition: DefinedFields): unknown[] =>
  TIMING.map((name) => definition[name as keyof DefinedFields])

/** Without members that are present but undefined, which would undo a default. */
export function defined<T extends object>(
  value: T | undefined,
): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(value ?? {}).filter(([, member]) => member !== undefined)) as {
    [K in keyof T]?: Exclude<T[K], undefined>
  }
}
