/**
 * The query string of the address. It holds the state of a screen as plain text, so that an address can be read, typed and
 * shared. Parameters that a screen does not know are dropped.
 */
import { queryOf } from '../api/client.ts'
import { ZONE_MODES, type ZoneMode } from '../time/zone.ts'

export type RawSearch = Readonly<Record<string, unknown>>

export const parseSearch = (text: string): Record<string, string> =>
  Object.fromEntries(new URLSearchParams(text))

export const stringifySearch = (search: Record<string, string | undefined>): string => queryOf(search)

/** Parameters that every screen keeps: the time zone of shown instants. */
export interface SharedSearch {
  readonly tz?: Exclude<ZoneMode, 'task'>
}

export function sharedSearch({ tz }: RawSearch): SharedSearch {
  const mode = ZONE_MODES.find((known) => known === tz)
  return mode === undefined || mode === 'task' ? {} : { tz: mode }
}

/** The value of a parameter if it is text, truncated to what a request can hold. */
export function textIn(search: RawSearch, name: string): string | undefined {
  const value = search[name]
  return typeof value === 'string' && value !== '' ? value.slice(0, MAX_TEXT) : undefined
}

/** The row selected by keyboard, on screens with rows. */
export interface RowSearch {
  readonly row?: string
}

export function rowIn(search: RawSearch): RowSearch {
  const row = textIn(search, 'row')
  return row === undefined ? {} : { row }
}

/** Filters a list by part of the name. */
export interface NameSearch {
  readonly q?: string
}

export function namePartIn(search: RawSearch): NameSearch {
  const q = textIn(search, 'q')?.slice(0, MAX_NAME_PART)
  return q ? { q } : {}
}

const MAX_NAME_PART = 100
const MAX_TEXT = 200

/** The value of a parameter if it is one of the known choices. */
export function choiceIn<T extends string>(
  search: RawSearch,
  name: string,
  known: readonly T[],
): T | undefined {
  return known.find((value) => value === search[name])
}
