/**
 * Unsaved input of a form. It is stored for this tab, so that reloading, following a link or going back does not lose it, until
 * it is saved or discarded.
 */
import { useState } from 'react'

const PREFIX = 'belfry.unsaved:'

/** Stores a text under a name. */
export function keepText(name: string, text: string): void {
  try {
    sessionStorage.setItem(PREFIX + name, text)
  } catch {
    // Storage may be full or unavailable; the form works without it.
  }
}

export function forgetText(name: string): void {
  try {
    sessionStorage.removeItem(PREFIX + name)
  } catch {
    // Nothing was stored.
  }
}

export function textKept(name: string): string | null {
  try {
    return sessionStorage.getItem(PREFIX + name)
  } catch {
    return null
  }
}

/** Reads stored fields; returns null if they were stored by another build, whose form had different fields. */
export function fieldsOf<Fields extends object>(text: string | null, start: Fields): Fields | null {
  try {
    const kept: unknown = JSON.parse(text ?? 'null')
    return typeof kept === 'object' && kept !== null && haveSameNames(kept, start) ? (kept as Fields) : null
  } catch {
    return null
  }
}

export const haveSameNames = (one: object, other: object): boolean =>
  Object.keys(one).toSorted().join() === Object.keys(other).toSorted().join()

export interface KeptFields<Fields> {
  /** The fields before any input. */
  readonly start: Fields
  readonly fields: Fields
  /** Whether the shown fields come from stored input. */
  readonly isFound: boolean
  readonly change: (part: Partial<Fields>) => void
  readonly startOver: () => void
  /** Discards the stored input once it is saved or given up. */
  readonly forget: () => void
}

/** The fields of the panel under a name: stored input, or the start values. */
export function useKeptFields<Fields extends object>(name: string, begin: () => Fields): KeptFields<Fields> {
  const [start] = useState(begin)
  const [found] = useState(() => fieldsOf(textKept(name), start))
  const [isFound, setFound] = useState(found !== null)
  const [fields, setFields] = useState(found ?? start)
  const forget = () => forgetText(name)
  return {
    start,
    fields,
    isFound,
    change: (part) => {
      const next = { ...fields, ...part }
      setFields(next)
      const text = JSON.stringify(next)
      if (text === JSON.stringify(start)) forget()
      else keepText(name, text)
    },
    startOver: () => {
      setFields(start)
      setFound(false)
      forget()
    },
    forget,
  }
}
