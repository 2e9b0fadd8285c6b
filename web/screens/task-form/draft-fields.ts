/**
 * The boxes of the form for the declared fields of a task: one for each field, and one for each member of a field that is an
 * object. A box holds text, a list of texts, or one of several choices.
 */
import type { Kind, Setting, TaskField } from '../../../src/core/task/field-kinds.ts'
import { defaultOf, FIELD_LIST, membersOf } from '../../../src/core/task/field-list.ts'
import type { FieldName, TaskFields } from '../../../src/core/task/fields.ts'
import { jsonOrText, numberOf } from '../../components/typed.ts'
import { readable } from './readable.ts'

type Content<K> = K extends { readonly type: 'list' }
  ? readonly string[]
  : K extends { readonly type: 'choice'; readonly of: readonly (infer Word)[] }
    ? Word
    : string

type Compound = { readonly type: 'action' | 'schedule' | 'object' }

/** Boxes of whole fields, named after the fields. */
export type PlainBoxes = {
  readonly [Name in FieldName as TaskFields[Name]['kind'] extends Compound ? never : Name]: Content<
    TaskFields[Name]['kind']
  >
}

type Member = {
  [Name in FieldName]: TaskFields[Name]['kind'] extends { readonly members: infer Members }
    ? {
        [Inner in keyof Members & string]: {
          readonly box: `${Name}${Capitalize<Inner>}`
          readonly kind: Members[Inner] extends { readonly kind: infer K } ? K : never
        }
      }[keyof Members & string]
    : never
}[FieldName]

/** Boxes of members: `limit` of `retry` is `retryLimit`. */
export type MemberBoxes = { readonly [M in Member as M['box']]: Content<M['kind']> }

export type FieldBoxes = PlainBoxes & MemberBoxes

/** A box and the declaration of its content. */
export interface Box {
  readonly name: keyof FieldBoxes
  readonly field: FieldName
  /** The member, if the field is an object. */
  readonly member: string | null
  /** JSON pointer at which problems are reported. */
  readonly pointer: string
  readonly about: TaskField['about']
  /** Whether the value decides when the task is due. */
  readonly isTiming: boolean
  readonly setting: Setting
}

/** All boxes in the order of declaration. */
export const BOXES: readonly Box[] = FIELD_LIST.flatMap((field): Box[] => {
  const { name, about, kind, isTiming = false } = field
  const of = { field: name, about, isTiming }
  if (kind.type === 'action' || kind.type === 'schedule') return []
  if (kind.type !== 'object')
    return [{ name: name as keyof FieldBoxes, member: null, pointer: `/${name}`, setting: field, ...of }]
  return membersOf(field).map(([member, setting]) => ({
    name: boxName(name, member),
    member,
    pointer: `/${name}/${member}`,
    setting,
    ...of,
  }))
})

function boxName(field: string, member: string): keyof FieldBoxes {
  return `${field}${member.charAt(0).toUpperCase()}${member.slice(1)}` as keyof FieldBoxes
}

type Contents = Record<string, unknown>

/** The initial content of all boxes. */
export const emptyBoxes = (): FieldBoxes => boxesOf(defaults()) as FieldBoxes

const defaults = (): Contents => Object.fromEntries(FIELD_LIST.map((field) => [field.name, defaultOf(field)]))

/**
 * The boxes for some fields and, of objects, for the members that are present. A value that does not fit its box leaves it
 * empty.
 */
export function boxesOf(values: Contents): Partial<FieldBoxes> {
  const contents: Contents = {}
  for (const { name, field, member, setting } of BOXES) {
    if (!(field in values)) continue
    const value = member === null ? values[field] : (values[field] as Contents)[member]
    if (member === null || value !== undefined) contents[name] = contentOf(setting.kind, value)
  }
  return contents as Partial<FieldBoxes>
}

function contentOf({ type }: Kind, value: unknown): unknown {
  switch (type) {
    case 'list':
      return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : []
    case 'choice':
      return value
    case 'json':
      return Object.keys(value as object).length === 0 ? '' : JSON.stringify(value, null, 2)
    case 'boolean':
      return String(value)
    case 'integer':
    case 'number':
      return typeof value === 'number' ? String(value) : ''
    case 'instant':
      return readable(value)
    default:
      return typeof value === 'string' ? value : ''
  }
}

/** The values of the fields according to the boxes. */
export function valuesOf(boxes: FieldBoxes): Contents {
  const values: Contents = {}
  for (const { name, field, member, setting } of BOXES) {
    const value = valueIn(setting, boxes[name])
    values[field] = member === null ? value : { ...(values[field] as object | undefined), [member]: value }
  }
  return values
}

function valueIn({ kind, isNullable }: Setting, content: string | readonly string[]): unknown {
  if (typeof content !== 'string') return [...content]
  if (kind.type === 'choice') return content
  if (kind.type === 'boolean') return content === 'true'
  const text = content.trim()
  if (text === '' && isNullable) return null
  if (kind.type === 'json') return text === '' ? {} : jsonOrText(content)
  return kind.type === 'integer' || kind.type === 'number' ? numberOf(content) : text
}
