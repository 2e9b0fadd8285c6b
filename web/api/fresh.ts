/** Counts, for each list, the rows that have arrived since it was read and are not shown yet. */
import { hashKey } from '@tanstack/react-query'
import { useSyncExternalStore } from 'react'

/** Beyond this number they are no longer counted individually. */
export const MAX_FRESH = 1_000

const waiting = new Map<string, ReadonlySet<string>>()
const listeners = new Set<() => void>()

export function addFresh(list: string, ids: readonly string[]): void {
  const before = waiting.get(list) ?? new Set()
  if (ids.length === 0 || before.size >= MAX_FRESH) return
  waiting.set(list, new Set([...before, ...ids].slice(0, MAX_FRESH)))
  tell()
}

export function forgetFresh(queryKey: readonly unknown[]): void {
  if (waiting.delete(hashKey(queryKey))) tell()
}

function tell(): void {
  for (const listener of listeners) listener()
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

export function useFreshCount(queryKey: readonly unknown[]): number {
  return useSyncExternalStore(subscribe, () => waiting.get(hashKey(queryKey))?.size ?? 0)
}
