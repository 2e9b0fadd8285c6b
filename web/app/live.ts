/**
 * The event stream of changes. A visible page keeps one stream open and applies its messages to the cached data. A page in the
 * background closes it and refetches when it becomes visible again.
 */
import { useEffect, useSyncExternalStore } from 'react'
import type { Changes, Hello, Reload } from '../../src/api/resources/stream/schemas.ts'
import { applyChanges } from '../api/apply-changes.ts'
import { chosenProject } from '../api/chosen-project.ts'
import { ApiError, queryOf } from '../api/client.ts'
import { meQuery } from '../api/me.ts'
import { queryClient } from '../api/query-client.ts'
import { setServerNow } from '../time/clock.ts'

/** `unavailable`: the server answers, but refuses the stream, for example because too many are open. */
export type LiveState = 'live' | 'catching-up' | 'unavailable' | 'offline'

/** A stream that is disconnected for longer than this counts as lost. */
const PATIENCE_MS = 5_000
/** A refused stream is opened again after this time, which doubles with each refusal up to the maximum. */
const REOPEN_MS = 5_000
const MAX_REOPEN_MS = 30_000
/** Polling intervals of screens: long while the event stream is connected, short while it is not. */
const SELDOM_MS = 30_000
const OFTEN_MS = 3_000

let state: LiveState = 'catching-up'
let stream: EventSource | undefined
let patience: ReturnType<typeof setTimeout> | undefined
let reopening: ReturnType<typeof setTimeout> | undefined
let refusals = 0
const listeners = new Set<() => void>()

function setState(next: LiveState): void {
  if (next === state) return
  state = next
  for (const listener of listeners) listener()
}

function open(): void {
  clearTimeout(reopening)
  stream?.close()
  stream = new EventSource(`/v1/stream${queryOf({ project: chosenProject() })}`)
  listen<Hello>(stream, 'hello', ({ now }) => {
    setServerNow(Date.parse(now))
    stopWaiting()
    refusals = 0
    setState('live')
    // Changes from before the stream was connected are in no message, so everything is refetched.
    void queryClient.invalidateQueries()
  })
  listen<Changes>(stream, 'changes', (changes) => {
    setServerNow(Date.parse(changes.now))
    applyChanges(changes, { isWatching: isWatching() })
  })
  listen<Reload>(stream, 'reload', ({ now }) => {
    setServerNow(Date.parse(now))
    void queryClient.invalidateQueries()
  })
  stream.onerror = () => {
    if (state === 'live') setState('catching-up')
    patience ??= setTimeout(() => setState('offline'), PATIENCE_MS)
    // The browser reconnects a broken stream by itself, but not one that the server refused.
    if (stream?.readyState !== EventSource.CLOSED) return
    reopening = setTimeout(open, Math.min(MAX_REOPEN_MS, REOPEN_MS * 2 ** refusals++))
    void askWhy()
  }
}

/** The error of a stream does not say why. If the session is over, this request leads to the sign-in page. */
async function askWhy(): Promise<void> {
  const isServed = await queryClient.fetchQuery({ ...meQuery, staleTime: 0 }).then(
    () => true,
    () => false,
  )
  if (!isServed || stream?.readyState !== EventSource.CLOSED) return
  stopWaiting()
  setState('unavailable')
}

function stopWaiting(): void {
  clearTimeout(patience)
  patience = undefined
}

function listen<T>(source: EventSource, name: string, hear: (data: T) => void): void {
  source.addEventListener(name, (event) => hear(JSON.parse((event as MessageEvent<string>).data) as T))
}

function close(): void {
  stopWaiting()
  clearTimeout(reopening)
  stream?.close()
  stream = undefined
  setState('catching-up')
}

/** Distance from the top within which new rows are still visible to the user. */
const NEAR_TOP_PX = 120

/** Whether new rows may be inserted at the top: the user is there and is not pointing at a row. */
function isWatching(): boolean {
  return window.scrollY < NEAR_TOP_PX && document.querySelector('[data-live]:hover') === null
}

/** Keeps the stream open while the page is visible. */
export function useStream(): void {
  useEffect(() => {
    const follow = () => (document.visibilityState === 'hidden' ? close() : open())
    follow()
    document.addEventListener('visibilitychange', follow)
    return () => {
      document.removeEventListener('visibilitychange', follow)
      close()
    }
  }, [])
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

export const useLiveState = (): LiveState => useSyncExternalStore(subscribe, () => state)

/** How often a screen should refetch its data. */
export const refreshMs = (): number => (state === 'live' ? SELDOM_MS : OFTEN_MS)

queryClient.getQueryCache().subscribe((event) => {
  if (event.type !== 'updated' || event.action.type !== 'failed') return
  const { error } = event.action
  // While the stream is connected the server is reachable, even if a single request failed.
  if (error instanceof ApiError && error.problem.status === 0 && stream?.readyState !== EventSource.OPEN)
    setState('offline')
})
