/**
 * The server's time, on which countdowns are based, and a tick each second. Each message of the event stream sets the time; the
 * monotonic clock continues from there.
 */
import { useSyncExternalStore } from 'react'

const TICK_MS = 1_000

let offset = Date.now() - performance.now()
let shown = Math.floor(serverNow())
let timer: ReturnType<typeof setTimeout> | undefined
const listeners = new Set<() => void>()

export function serverNow(): number {
  return performance.now() + offset
}

/** Sets the server's time to `now`. */
export function setServerNow(now: number): void {
  offset = now - performance.now()
  tick()
}

function tick(): void {
  shown = Math.floor(serverNow())
  for (const listener of listeners) listener()
}

/** The next tick is at the change of the server's second, so that everything on the page changes at once. */
function schedule(): void {
  const untilNext = TICK_MS - (serverNow() % TICK_MS)
  timer = setTimeout(() => {
    tick()
    if (listeners.size > 0) schedule()
  }, untilNext)
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  if (listeners.size === 1) {
    tick()
    schedule()
  }
  return () => {
    listeners.delete(listener)
    if (listeners.size === 0) clearTimeout(timer)
  }
}

/** The server's time, updated each second. */
export function useNow(): number {
  return useSyncExternalStore(subscribe, () => shown)
}
