/** Tasks that somebody deleted while they were shown here. A page that shows one says so. */
import { useSyncExternalStore } from 'react'

const gone = new Set<string>()
const listeners = new Set<() => void>()
/** The most ids to remember. Older ones are read again from the server. */
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
