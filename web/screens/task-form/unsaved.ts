/**
 * What somebody wrote into the form and has not saved. It is kept in this tab, so that a reload, a link or Back does
 * not lose it, until it is saved or given up.
 */
import { useState } from 'react'
import type { Task } from '../../api/wire.ts'
import { type Draft, emptyDraft } from './draft.ts'

export interface Writing {
  /** The version of the task that is edited; null for a new task. */
  readonly base: Task | null
  readonly draft: Draft
}

const PREFIX = 'belfry.unsaved:'

/** What was kept as text; nothing when it is of another build, whose form had other fields. */
export function writingOf(text: string | null): Writing | null {
  try {
    const kept = JSON.parse(text ?? 'null') as Writing | null
    return kept !== null && fieldsOf(kept.draft) === fieldsOf(emptyDraft()) ? kept : null
  } catch {
    return null
  }
}

const fieldsOf = (draft: Draft): string => Object.keys(draft).toSorted().join()

function keep(name: string, writing: Writing, start: Writing): void {
  const text = JSON.stringify(writing)
  try {
    if (text === JSON.stringify(start)) forget(name)
    else sessionStorage.setItem(PREFIX + name, text)
  } catch {
    // More than the browser keeps, or it keeps nothing: the form works all the same.
  }
}

function forget(name: string): void {
  try {
    sessionStorage.removeItem(PREFIX + name)
  } catch {
    // Nothing was kept.
  }
}

function read(name: string): Writing | null {
  try {
    return writingOf(sessionStorage.getItem(PREFIX + name))
  } catch {
    return null
  }
}

interface Unsaved extends Writing {
  /** What is shown was written before, and kept. */
  readonly isFound: boolean
  readonly change: (draft: Draft) => void
  readonly startOver: (from?: Writing) => void
  /** It is saved, or given up. */
  readonly forget: () => void
}

/** What is being written under a name: what was kept of it, or a start. */
export function useUnsaved(name: string, start: Writing): Unsaved {
  const [found] = useState(() => read(name))
  const [isFound, setFound] = useState(found !== null)
  const [writing, setWriting] = useState(found ?? start)
  return {
    ...writing,
    isFound,
    change: (draft) => {
      const next = { ...writing, draft }
      setWriting(next)
      keep(name, next, start)
    },
    startOver: (from = start) => {
      setWriting(from)
      setFound(false)
      forget(name)
    },
    forget: () => forget(name),
  }
}
