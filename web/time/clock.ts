/**
 * The server's time, which countdowns count to, and a tick each second for whatever shows it. The server says
 * what time it is with each thing that comes over the stream; between those the monotonic clock counts on.
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

/** The server's clock stood at `now` a moment ago. */
export function setServerNow(now: number): void {
  offset = now - performance.now()
  tick()
}

function tick(): void {
  shown = Math.floor(serverNow())
  for (const listener of listeners) listener()
}

/** The next tick comes when the server's second changes, so that everything on a page changes at once. */
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

/** The server's time, new each second. */
export function useNow(): number {
  return useSyncExternalStore(subscribe, () => shown)
}
