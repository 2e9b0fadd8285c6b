/** The declared fields as a list to loop over, and what they mean where nothing is said. */
import type { Setting, TaskField } from './field-kinds.ts'
import { type FieldName, TASK_FIELDS } from './fields.ts'
import type { DefinedFields } from './task.ts'

/** A declared field and its name. */
export interface NamedField extends TaskField {
  readonly name: FieldName
}

/** In the order in which they are declared. */
export const FIELD_LIST: readonly NamedField[] = Object.entries(TASK_FIELDS).map(([name, field]) => ({
  name: name as FieldName,
  ...field,
}))

/** Those that the definition holds; the others are columns of the task. */
export const DEFINITION_FIELDS = FIELD_LIST.filter(({ keptIn }) => keptIn !== 'column')

/** The members of a field that is an object; none of any other. */
export const membersOf = ({ kind }: Pick<Setting, 'kind'>): readonly (readonly [string, Setting])[] =>
  kind.type === 'object' ? Object.entries(kind.members) : []

/** What a new task gets that does not say; undefined for its action and its schedule. */
export const defaultOf = (setting: Setting): unknown => meaning(setting, 'default')

/** What a stored definition means that does not have it; undefined for action and schedule, which are always stored. */
export const unstoredOf = (setting: Setting): unknown => meaning(setting, 'unstored')

function meaning(setting: Setting, of: 'default' | 'unstored'): unknown {
  if (setting.isNullable) return null
  if (setting.kind.type !== 'object') return setting[of]
  return Object.fromEntries(membersOf(setting).map(([name, member]) => [name, member[of]]))
}

/** The default of every field that has one: tasks that do not say share these very values. */
export const TASK_DEFAULTS = Object.fromEntries(
  DEFINITION_FIELDS.map((field) => [field.name, defaultOf(field)] as const).filter(
    ([, value]) => value !== undefined,
  ),
) as unknown as Omit<DefinedFields, 'action' | 'schedule'>
