/** Keyboard shortcuts that work on every screen. They are ignored in text fields, in dialogs and with modifier keys. */
import { useNavigate } from '@tanstack/react-router'
import { useEffect, useEffectEvent } from 'react'

/** Time within which the second key must follow `g`. */
const CHORD_MS = 1_500

export const SHORTCUTS = [
  { keys: ['Ctrl', 'K'], does: 'Search tasks, runs and pages' },
  { keys: ['g', 'o'], does: 'Go to overview' },
  { keys: ['g', 't'], does: 'Go to tasks' },
  { keys: ['g', 'r'], does: 'Go to runs' },
  { keys: ['g', 'd'], does: 'Go to dead letters' },
  { keys: ['g', 'q'], does: 'Go to queues' },
  { keys: ['g', 'f'], does: 'Go to files' },
  { keys: ['g', 'c'], does: 'Go to targets' },
  { keys: ['g', 'n'], does: 'Go to nodes' },
  { keys: ['g', 's'], does: 'Go to settings' },
  { keys: ['n'], does: 'New task' },
  { keys: ['/'], does: 'Filter list' },
  { keys: ['j'], does: 'Next row' },
  { keys: ['k'], does: 'Previous row' },
  { keys: ['Enter'], does: 'Open row' },
  { keys: ['x'], does: 'Select row' },
  { keys: ['r'], does: 'Run the task in the row now' },
  { keys: ['p'], does: 'Pause or resume the task in the row' },
  { keys: ['?'], does: 'Show keyboard shortcuts' },
] as const

/** Whether a key press is for a shortcut and not for a field, a dialog or the browser. */
export function isFree(event: KeyboardEvent): boolean {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return false
  const target = event.target as HTMLElement | null
  if (target?.closest('input, textarea, select, [contenteditable="true"], [role="dialog"], [role="menu"]'))
    return false
  return document.querySelector('[role="dialog"]') === null
}

interface GlobalShortcuts {
  readonly onPalette: () => void
  readonly onHelp: () => void
}

export function useGlobalShortcuts({ onPalette, onHelp }: GlobalShortcuts): void {
  const navigate = useNavigate()
  const places: Readonly<Record<string, () => void>> = {
    o: () => void navigate({ to: '/' }),
    t: () => void navigate({ to: '/tasks' }),
    r: () => void navigate({ to: '/runs' }),
    d: () => void navigate({ to: '/dead-letters' }),
    q: () => void navigate({ to: '/queues' }),
    f: () => void navigate({ to: '/files' }),
    c: () => void navigate({ to: '/targets' }),
    n: () => void navigate({ to: '/nodes' }),
    s: () => void navigate({ to: '/settings' }),
  }
  const single: Readonly<Record<string, () => void>> = {
    n: () => void navigate({ to: '/tasks/new' }),
    '?': onHelp,
    '/': () => document.querySelector<HTMLInputElement>('[data-filter]')?.focus(),
  }
  const chord = useChord()
  const onKey = useEffectEvent((event: KeyboardEvent) => {
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'k') {
      event.preventDefault()
      return onPalette()
    }
    if (!isFree(event)) return
    if (event.key === 'g') return chord.begin()
    const action = chord.isOpen() ? places[event.key] : single[event.key]
    chord.end()
    if (!action) return
    event.preventDefault()
    action()
  })
  useEffect(() => {
    window.addEventListener('keydown', onKey)
    return () => window.removeEventListener('keydown', onKey)
  }, [])
}

let chordUntil = 0

function useChord() {
  return {
    begin: () => {
      chordUntil = performance.now() + CHORD_MS
    },
    isOpen: () => performance.now() < chordUntil,
    end: () => {
      chordUntil = 0
    },
  }
}
