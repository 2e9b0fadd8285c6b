/** The schemas of a task's fields in requests and responses, built from the declaration of each field. */
import { z } from 'zod'
import type { GivenValue, Kind, Setting, ValueOf } from '../../../core/task/field-kinds.ts'
import { defaultOf, FIELD_LIST, membersOf } from '../../../core/task/field-list.ts'
import { type FieldName, TASK_FIELDS, type TaskFields } from '../../../core/task/fields.ts'
import { durationMs } from '../../../core/task/task.ts'
import { Action } from '../../../operations/tasks/action-schema.ts'
import { durationBetween, Instant, Rate } from '../../../operations/validation/values.ts'
import { Schedule } from '../schedules/schemas.ts'

/** Maximum length of the name of a JSON object's member. */
const MAX_MEMBER_NAME = 200

/** Belfry builds responses itself, so their schemas are documentation and are not validated. */
const Stored = z.string().meta({ format: 'date-time' })

type Optional<T> = z.ZodOptional<z.ZodType<T, T>>

/** A field in a request. */
type Given<Name extends FieldName> = Optional<GivenValue<TaskFields[Name]>>

/** Every field in requests, all of them optional. */
export const GIVEN_FIELDS = Object.fromEntries(
  FIELD_LIST.map((field) => [field.name, optional(field)]),
) as unknown as { readonly [Name in FieldName]: Given<Name> }

/** Every field in responses. */
export const SHOWN_FIELDS = Object.fromEntries(
  FIELD_LIST.map((field) => [field.name, shown(field)]),
) as unknown as { readonly [Name in FieldName]: z.ZodType<Writable<ValueOf<TaskFields[Name]>>> }

/** Lists and objects in responses belong to the receiver, so they are mutable. */
type Writable<T> = T extends readonly (infer Item)[]
  ? Item[]
  : T extends object
    ? { -readonly [K in keyof T]: T[K] }
    : T

/** Returns the schema of a field's value, if it has one. */
export const fieldValue = <Name extends FieldName>(name: Name) =>
  given(TASK_FIELDS[name].kind) as unknown as z.ZodType<NonNullable<GivenValue<TaskFields[Name]>>>

/** Returns the description of a field, with its range and its default. */
function described(setting: Setting): string {
  const { kind, doc } = setting
  const fallback = defaultOf(setting)
  const range = kind.type === 'duration' ? ` From ${kind.min} to ${kind.max}.` : ''
  const isPlain = ['string', 'number', 'boolean'].includes(typeof fallback)
  return `${doc}${range}${isPlain ? ` Default: ${fallback}.` : ''}`
}

function optional(setting: Setting): z.ZodOptional {
  const value = given(setting.kind)
  return (setting.isNullable ? value.nullable() : value).optional().describe(described(setting))
}

function given(kind: Kind): z.ZodType {
  switch (kind.type) {
    case 'text': {
      const text = z.string().min(1).max(kind.max)
      const { except } = kind
      return except === undefined ? text : text.refine((value) => !except.values.includes(value), except.rule)
    }
    case 'pattern':
      return z.string().regex(kind.pattern, kind.rule)
    case 'duration':
      return durationBetween(durationMs(kind.min), durationMs(kind.max), `from ${kind.min} to ${kind.max}`)
    case 'instant':
      return Instant
    case 'rate':
      return Rate
    case 'integer':
      return z.int().min(kind.min).max(kind.max)
    case 'number':
      return z.number().min(kind.min).max(kind.max)
    case 'choice':
      return z.enum(kind.of)
    case 'boolean':
      return z.boolean()
    case 'list': {
      const item = z.string().min(1).max(kind.max)
      const { refused } = kind
      const checked =
        refused === undefined ? item : item.refine((text) => !refused.isRefused(text), refused.rule)
      return z.array(checked).max(kind.items)
    }
    case 'json':
      return z
        .record(z.string().max(MAX_MEMBER_NAME), z.unknown())
        .refine(
          (value) => JSON.stringify(value).length <= kind.max,
          `must not be larger than ${kind.max} characters as JSON`,
        )
    case 'object':
      return z.strictObject(
        Object.fromEntries(membersOf({ kind }).map(([name, member]) => [name, optional(member)])),
      )
    case 'action':
      return Action
    case 'schedule':
      return Schedule
  }
}

function shown({ kind, isNullable }: Pick<Setting, 'kind' | 'isNullable'>): z.ZodType {
  const value = shownValue(kind)
  return isNullable ? value.nullable() : value
}

function shownValue(kind: Kind): z.ZodType {
  switch (kind.type) {
    case 'text':
    case 'pattern':
    case 'duration':
    case 'rate':
      return z.string()
    case 'instant':
      return Stored
    case 'integer':
      return z.int()
    case 'number':
      return z.number()
    case 'choice':
      return z.enum(kind.of)
    case 'boolean':
      return z.boolean()
    case 'list':
      return z.array(z.string())
    case 'json':
      return z.record(z.string(), z.unknown())
    case 'object':
      return z.object(Object.fromEntries(membersOf({ kind }).map(([name, member]) => [name, shown(member)])))
    case 'action':
      return z.unknown().meta({ $ref: '#/components/schemas/Action' })
    case 'schedule':
      return z.unknown().meta({ $ref: '#/components/schemas/Schedule' })
  }
}
