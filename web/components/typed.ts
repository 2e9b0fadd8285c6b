/**
 * Converts what was typed into the form that the API takes. Text that cannot be parsed is sent as it is, so that the API
 * reports what is wrong.
 */
import { changedNumber } from '../../src/core/values/json/changed-number.ts'

/**
 * The API sends text as it is and everything else as JSON, so this reverses both. JSON with a number that would lose precision
 * stays text.
 */
export function jsonOrText(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text)
    return changedNumber(text) === null ? value : text
  } catch {
    return text
  }
}

/** JSON for a text field; an empty string for undefined. */
export const jsonText = (value: unknown): string =>
  value === undefined ? '' : JSON.stringify(value, null, 2)

/** Like `jsonText`, but leaves text as it is. */
export const bodyText = (body: unknown): string => (typeof body === 'string' ? body : jsonText(body))

export function numberOf(text: string): number {
  const number = Number(text)
  return text.trim() === '' || Number.isNaN(number) ? (text as unknown as number) : number
}

/** An object with the member, or an empty one if nothing was typed. */
export function given<K extends string>(name: K, text: string): Partial<Record<K, string>> {
  const typed = text.trim()
  return typed === '' ? {} : ({ [name]: typed } as Record<K, string>)
}

/** Splits text at commas. */
export const listOf = (text: string): string[] => text.split(',').flatMap((part) => part.trim() || [])
