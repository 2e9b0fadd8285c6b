/**
 * The row that the keys j and k move to. It is in the address, so it is still chosen when one comes back, and an
 * address that is passed on points to it; it is known by its id and stays chosen when rows come and go.
 */
import { useNavigate, useSearch } from '@tanstack/react-router'
import { useEffect, useEffectEvent } from 'react'
import { isFree } from '../app/shortcuts.ts'

interface RowKeys {
  /** Brings the row with this index into view. */
  readonly show: (index: number) => void
  /** Does what a key says to the chosen row. */
  readonly act: (key: string, id: string) => void
}

/** Whoever moves to a row means the row from then on: Enter must not follow the link that was used to get here. */
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
  // An address that names a row shows it, once, when it is there; not again with each key.
  useEffect(() => {
    if (isThere) showFirst()
  }, [isThere])
  return row
}
