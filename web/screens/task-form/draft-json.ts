/**
 * Converts a draft to editable JSON and back. Values that fit the form's fields go into them. All others, including wrong ones,
 * are kept as they are, so that the API receives exactly what was written and reports what is wrong.
 */
import { FIELD_LIST } from '../../../src/core/task/field-list.ts'
import { changedNumber } from '../../../src/core/values/json/changed-number.ts'
import type { GivenSchedule, TaskInput } from '../../api/wire.ts'
import type { Draft } from './draft.ts'
import { actionFields } from './draft-action.ts'
import { boxesOf } from './draft-fields.ts'
import { fullInput } from './draft-input.ts'
import { scheduleFields } from './draft-schedule.ts'

type Fields = Readonly<Record<string, unknown>>

/** The draft after applying the text, or the reason why the text cannot be parsed. */
export type ReadJson =
  | { readonly ok: true; readonly draft: Draft }
  | { readonly ok: false; readonly reason: string }

export function draftOfJson(text: string, before: Draft): ReadJson {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    return { ok: false, reason: `Invalid JSON: ${(error as Error).message}` }
  }
  const changed = changedNumber(text)
  if (changed !== null) return { ok: false, reason: `This cannot be stored exactly: ${changed}` }
  if (!isObject(value)) return { ok: false, reason: 'This must be an object: { "action": …, "schedule": … }' }
  return { ok: true, draft: draftOfFields(value, { ...before, raw: {} }) }
}

function draftOfFields(fields: Fields, before: Draft): Draft {
  let draft = before
  for (const [name, value] of Object.entries(fields)) draft = { ...draft, ...shown(name, value) }
  const said = fullInput(draft)
  const raw = Object.entries(fields).filter(
    ([name, value]) => !isSaid(name, value, said[name as keyof TaskInput]),
  )
  return { ...draft, raw: Object.fromEntries(raw) }
}

const isObject = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The boxes that show a field. A value of another type leaves them empty. */
function shown(name: string, value: unknown): Partial<Draft> {
  try {
    if (name === 'action') return actionFields(value as Parameters<typeof actionFields>[0])
    if (name !== 'schedule') return boxesOf({ [name]: value })
    return typeof value === 'string'
      ? { when: 'words', words: value }
      : scheduleFields(value as GivenSchedule)
  } catch {
    // No box fits the shape of this value.
    return {}
  }
}

const kindOf = (name: string) => FIELD_LIST.find((field) => field.name === name)?.kind.type

/** Whether two values of a field are equivalent. */
function isSaid(name: string, written: unknown, said: unknown): boolean {
  const kind = kindOf(name)
  if (kind === 'instant' && typeof written === 'string' && typeof said === 'string')
    return Date.parse(written) === Date.parse(said)
  // JSON may name only some members of an object; the others keep their values.
  if (kind === 'object' && isObject(written) && isObject(said))
    return Object.entries(written).every(([member, value]) => sorted(value) === sorted(said[member]))
  return sorted(written) === sorted(said)
}

/** JSON with sorted members. */
function sorted(value: unknown): string {
  return JSON.stringify(value, (_, inner: unknown) =>
    isObject(inner)
      ? Object.fromEntries(Object.entries(inner).toSorted(([one], [other]) => (one < other ? -1 : 1)))
      : inner,
  )
}
