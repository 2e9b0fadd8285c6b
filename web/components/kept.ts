/**
 * What somebody wrote into a form and has not saved. It is kept in this tab, so that a reload, a link or Back does not lose
 * it, until it is saved or given up.
 */
import { useState } from 'react'

const PREFIX = 'belfry.unsaved:'

/** Keeps a text under a name. */
export function keepText(name: string, text: string): void {
  try {
    sessionStorage.setItem(PREFIX + name, text)
  } catch {
    // More than the browser keeps, or it keeps nothing: the form works all the same.
  }
}

export function forgetText(name: string): void {
  try {
    sessionStorage.removeItem(PREFIX + name)
  } catch {
    // Nothing was kept.
  }
}

export function textKept(name: string): string | null {
  try {
    return sessionStorage.getItem(PREFIX + name)
  } catch {
    return null
  }
}

/** Fields that were kept as text; nothing when they are of another build, whose form had other fields. */
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
  /** What the fields were before anything was written. */
  readonly start: Fields
  readonly fields: Fields
  /** What is shown was written before, and kept. */
  readonly isFound: boolean
  readonly change: (part: Partial<Fields>) => void
  readonly startOver: () => void
  /** It is saved, or given up. */
  readonly forget: () => void
}

/** The fields of a panel under a name: what was kept of them, or a start. */
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
