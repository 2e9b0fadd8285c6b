/** Converts a draft to the API's input: all fields, those that differ from the defaults, or those that changed. */
import { FIELD_LIST } from '../../../src/core/task/field-list.ts'
import type { TaskInput } from '../../api/wire.ts'
import { isSame } from '../../components/differences.ts'
import { type Draft, emptyDraft } from './draft.ts'
import { actionOf } from './draft-action.ts'
import { valuesOf } from './draft-fields.ts'
import { scheduleOf } from './draft-schedule.ts'

/** All fields with their values, including defaults. */
export function fullInput(draft: Draft): TaskInput {
  const values = { ...valuesOf(draft), action: actionOf(draft), schedule: scheduleOf(draft) }
  const inOrder = FIELD_LIST.map(({ name }) => [name, (values as Record<string, unknown>)[name]])
  return { ...(Object.fromEntries(inOrder) as unknown as TaskInput), ...draft.raw }
}

/** The input for a new task: only the fields that are set. */
export function inputOf(draft: Draft): TaskInput {
  const full = fullInput(draft)
  const usual = fullInput({ ...emptyDraft(), action: draft.action })
  const said = Object.entries(full).filter(
    ([field, value]) => ALWAYS.includes(field) || !isSame(value, usual[field as keyof TaskInput]),
  )
  return Object.fromEntries(said) as TaskInput
}

const ALWAYS = ['action', 'schedule']

/** The input for an existing task: only the fields whose values changed. */
export function changesOf(before: Draft, after: Draft): Partial<TaskInput> {
  const old = fullInput(before)
  const changed = Object.entries(fullInput(after)).filter(
    ([field, value]) => !isSame(value, old[field as keyof TaskInput]),
  )
  return Object.fromEntries(changed)
}
