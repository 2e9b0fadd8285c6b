/** Rows that are new since a list was read and wait to be looked at: how many, for each list. */
import { hashKey } from '@tanstack/react-query'
import { useSyncExternalStore } from 'react'

const waiting = new Map<string, ReadonlySet<string>>()
const listeners = new Set<() => void>()

export function addFresh(list: string, ids: readonly string[]): void {
  if (ids.length === 0) return
  waiting.set(list, new Set([...(waiting.get(list) ?? []), ...ids]))
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
