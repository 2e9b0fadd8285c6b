/** Whether the server answers: told by how the last requests ended. */
import { useSyncExternalStore } from 'react'
import { ApiError } from '../api/client.ts'
import { queryClient } from '../api/query-client.ts'

export type LiveState = 'live' | 'catching-up' | 'offline'

/** How often a screen asks again what it shows. */
const REFRESH_MS = 2_000

let state: LiveState = 'catching-up'
const listeners = new Set<() => void>()

function setState(next: LiveState): void {
  if (next === state) return
  state = next
  for (const listener of listeners) listener()
}

queryClient.getQueryCache().subscribe((event) => {
  if (event.type !== 'updated') return
  if (event.action.type === 'success') setState('live')
  if (event.action.type === 'failed' && isUnreachable(event.action.error)) setState('offline')
})

const isUnreachable = (error: unknown) => error instanceof ApiError && error.problem.status === 0

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

export const useLiveState = (): LiveState => useSyncExternalStore(subscribe, () => state)

export const refreshMs = (): number => REFRESH_MS
