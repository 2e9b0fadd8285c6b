/** The declared fields as a list, with their values when they are absent. */
import type { Setting, TaskField } from './field-kinds.ts'
import { type FieldName, TASK_FIELDS } from './fields.ts'
import type { DefinedFields } from './task.ts'

/** A declared field and its name. */
export interface NamedField extends TaskField {
  readonly name: FieldName
}

/** In the order of declaration. */
export const FIELD_LIST: readonly NamedField[] = Object.entries(TASK_FIELDS).map(([name, field]) => ({
  name: name as FieldName,
  ...field,
}))

/** The fields that are stored in the definition; the others are columns of the task. */
export const DEFINITION_FIELDS = FIELD_LIST.filter(({ keptIn }) => keptIn !== 'column')

/** The members of a field that is an object; empty for any other field. */
export const membersOf = ({ kind }: Pick<Setting, 'kind'>): readonly (readonly [string, Setting])[] =>
  kind.type === 'object' ? Object.entries(kind.members) : []

/** The value for a new task that does not set the field; undefined for action and schedule. */
export const defaultOf = (setting: Setting): unknown => meaning(setting, 'default')

/** The value for a stored definition without the field; undefined for action and schedule, which are always stored. */
export const unstoredOf = (setting: Setting): unknown => meaning(setting, 'unstored')

function meaning(setting: Setting, of: 'default' | 'unstored'): unknown {
  if (setting.isNullable) return null
  if (setting.kind.type !== 'object') return setting[of]
  return Object.fromEntries(membersOf(setting).map(([name, member]) => [name, member[of]]))
}

/** The default of every field that has one. Tasks that use a default share these objects. */
export const TASK_DEFAULTS = Object.fromEntries(
  DEFINITION_FIELDS.map((field) => [field.name, defaultOf(field)] as const).filter(
    ([, value]) => value !== undefined,
  ),
) as unknown as Omit<DefinedFields, 'action' | 'schedule'>
