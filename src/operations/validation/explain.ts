/** Explains what is wrong with a value, in words that follow the name of its field. */
import type { z } from 'zod'
import { likely } from '../../core/words/nearest.ts'

type Issue = z.core.$ZodRawIssue

/** Returns the message for one issue; undefined keeps the schema's own message. */
export function explain(issue: Issue): string | undefined {
  switch (issue.code) {
    case 'invalid_type':
      return issue.input === undefined
        ? 'is required'
        : `must be ${nameOf(issue.expected)}, not ${kindOf(issue.input)}`
    case 'invalid_value':
      return oneOf(issue.values as unknown[], issue.input)
    case 'invalid_union':
      return wrongVariant(issue)
    case 'too_small':
      return tooSmall(issue.origin, Number(issue.minimum))
    case 'too_big':
      return tooBig(issue.origin, Number(issue.maximum))
    case 'invalid_key':
      return issue.issues[0]?.message
    default:
      return undefined
  }
}

const MAX_WORD_CHARACTERS = 100

/** Suggests the field that was probably meant, or else lists all known fields. */
export function unknownField(name: string, known: readonly string[]): string {
  if (known.length === 0) return 'is not a known field; this object has no fields'
  const meant = likely(name.slice(0, MAX_WORD_CHARACTERS), known)
  return `is not a known field; ${meant === undefined ? `known fields: ${known.join(', ')}` : `the closest match is ${meant}`}`
}

/** Explains a discriminated union: the issue is at the discriminator and has its possible values. */
function wrongVariant(issue: Issue & { code: 'invalid_union' }): string | undefined {
  const { discriminator, options } = issue as { discriminator?: string; options?: unknown[] }
  if (discriminator === undefined || options === undefined) return wrongKind(issue)
  return oneOf(options, (issue.input as Record<string, unknown> | undefined)?.[discriminator])
}

/** Explains a union of values of different types, for a value of none of them. */
function wrongKind({ errors, input }: Issue & { code: 'invalid_union' }): string {
  if (input === undefined) return 'is required'
  const kinds = errors.flatMap(([first]) => (first?.code === 'invalid_type' ? [nameOf(first.expected)] : []))
  return `must be ${[...new Set(kinds)].join(' or ')}, not ${kindOf(input)}`
}

function oneOf(values: readonly unknown[], input: unknown): string {
  const words = values.map(String)
  const list = words.length === 1 ? `must be ${words[0]}` : `must be one of ${words.join(', ')}`
  if (input === undefined) return `is required and ${list}`
  if (typeof input !== 'string') return `${list}, not ${kindOf(input)}`
  const meant = words.length === 1 ? undefined : likely(input.slice(0, MAX_WORD_CHARACTERS), words)
  return meant === undefined ? list : `${list}; the closest match is ${meant}`
}

function tooSmall(origin: string, minimum: number): string {
  if (origin === 'string')
    return minimum === 1 ? 'must not be empty' : `must have at least ${minimum} characters`
  if (origin === 'array') return `must contain at least ${minimum} ${minimum === 1 ? 'item' : 'items'}`
  return `must be at least ${minimum}`
}

function tooBig(origin: string, maximum: number): string {
  if (origin === 'string') return `must not be longer than ${maximum} characters`
  if (origin === 'array') return `must not contain more than ${maximum} items`
  return `must be at most ${maximum}`
}

const NAMES: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  object: 'an object',
  record: 'an object',
  array: 'a list',
  null: 'null',
}
const nameOf = (type: string): string => NAMES[type] ?? type

function kindOf(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'a list'
  if (typeof value === 'number' && !Number.isInteger(value)) return 'a fraction'
  return nameOf(typeof value)
}
