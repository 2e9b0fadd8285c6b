/**
 * The row selected with the keys j and k. It is part of the address, so it survives navigation and can be shared; it is
 * identified by its id, so it stays selected when rows are added or removed.
 */
import { useNavigate, useSearch } from '@tanstack/react-router'
import { useEffect, useEffectEvent } from 'react'
import { isFree } from '../app/shortcuts.ts'

interface RowKeys {
  /** Scrolls the row with this index into view. */
  readonly show: (index: number) => void
  /** Performs the action of a key on the selected row. */
  readonly act: (key: string, id: string) => void
}

/** Removes the focus from a link, so that Enter acts on the selected row and does not follow the link. */
function leaveControl(): void {
  const { activeElement } = document
  if (activeElement instanceof HTMLElement && activeElement.closest('a, button')) activeElement.blur()
}

export function useChosenRow(ids: readonly string[], { show, act }: RowKeys): string | null {
  const navigate = useNavigate()
  const { row = null } = useSearch({ strict: false }) as { row?: string }
  const choose = (id: string) =>
    void navigate({
      to: '.',
      search: (before: Record<string, unknown>) => ({ ...before, row: id }) as never,
      replace: true,
      resetScroll: false,
    })
  const onKey = useEffectEvent((event: KeyboardEvent) => {
    if (!isFree(event)) return
    const index = row === null ? -1 : ids.indexOf(row)
    const step = { j: 1, k: -1 }[event.key]
    if (step !== undefined) {
      const next = Math.min(Math.max(index + step, 0), ids.length - 1)
      const id = ids[next]
      if (id === undefined) return
      leaveControl()
      choose(id)
      show(next)
      return
    }
    const isOnControl = (event.target as HTMLElement).closest('a, button') !== null
    if (row !== null && index >= 0 && !(event.key === 'Enter' && isOnControl)) act(event.key, row)
  })
  useEffect(() => {
    window.addEventListener('keydown', onKey)
    return () => window.removeEventListener('keydown', onKey)
  }, [])
  const isThere = row !== null && ids.includes(row)
  const showFirst = useEffectEvent(() => {
    if (row !== null && isThere) show(ids.indexOf(row))
  })
  // Scrolls to the row that the address names once, when it has been loaded, and not again with each key.
  useEffect(() => {
    if (isThere) showFirst()
  }, [isThere])
  return row
}
