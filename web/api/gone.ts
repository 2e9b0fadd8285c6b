/** Ids of tasks that were deleted while this page was open, so that a page showing one can say so. */
import { useSyncExternalStore } from 'react'

const gone = new Set<string>()
const listeners = new Set<() => void>()
/** Maximum number of ids to remember. Older ones are read from the server again. */
const MOST_REMEMBERED = 10_000

export function markGone(id: string): void {
  if (gone.size > MOST_REMEMBERED) gone.clear()
  gone.add(id)
  for (const listener of listeners) listener()
}

export const isGone = (id: string): boolean => gone.has(id)

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

export function useIsGone(id: string): boolean {
  return useSyncExternalStore(subscribe, () => gone.has(id))
}
