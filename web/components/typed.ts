/** What was typed into a box, as the API takes it. What cannot be read goes as it is: the API says what would be right. */
import { changedNumber } from '../../src/core/values/json/changed-number.ts'

/**
 * The API sends text as it is and everything else as JSON, so both come out as they were typed; JSON with a number that
 * would become another one stays text.
 */
export function jsonOrText(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text)
    return changedNumber(text) === null ? value : text
  } catch {
    return text
  }
}

/** JSON for a box; nothing for what is not there. */
export const jsonText = (value: unknown): string =>
  value === undefined ? '' : JSON.stringify(value, null, 2)

/** The same, but text as it is. */
export const bodyText = (body: unknown): string => (typeof body === 'string' ? body : jsonText(body))

export function numberOf(text: string): number {
  const number = Number(text)
  return text.trim() === '' || Number.isNaN(number) ? (text as unknown as number) : number
}

/** A member for what was typed, and none where nothing was. */
export function given<K extends string>(name: K, text: string): Partial<Record<K, string>> {
  const typed = text.trim()
  return typed === '' ? {} : ({ [name]: typed } as Record<K, string>)
}

/** What was typed with commas between. */
export const listOf = (text: string): string[] => text.split(',').flatMap((part) => part.trim() || [])
