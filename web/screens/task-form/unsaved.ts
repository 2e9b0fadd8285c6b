/** Unsaved input of a task form, with the version that an edit started from. */
import { useState } from 'react'
import type { Task } from '../../api/wire.ts'
import { forgetText, haveSameNames, keepText, textKept } from '../../components/kept.ts'
import { type Draft, emptyDraft } from './draft.ts'

export interface Writing {
  /** The version of the edited task; null for a new task. */
  readonly base: Task | null
  readonly draft: Draft
}

/** Reads stored input; null if it was stored by another build, whose form had different fields. */
export function writingOf(text: string | null): Writing | null {
  try {
    const kept = JSON.parse(text ?? 'null') as Writing | null
    return kept !== null && haveSameNames(kept.draft, emptyDraft()) ? kept : null
  } catch {
    return null
  }
}

function keep(name: string, writing: Writing, start: Writing): void {
  const text = JSON.stringify(writing)
  if (text === JSON.stringify(start)) forgetText(name)
  else keepText(name, text)
}

interface Unsaved extends Writing {
  /** Whether the shown input was stored earlier. */
  readonly isFound: boolean
  readonly change: (draft: Draft) => void
  readonly startOver: (from?: Writing) => void
  /** Discards the stored input once it is saved or given up. */
  readonly forget: () => void
}

/** The input under a name: stored input, or the start. */
export function useUnsaved(name: string, start: Writing): Unsaved {
  const [found] = useState(() => writingOf(textKept(name)))
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
      forgetText(name)
    },
    forget: () => forgetText(name),
  }
}
