/**
 * Restarts the embedded database when it dies, so that a killed server causes only an interruption. Attempts are counted until
 * the server has been up for a while: after too many, the supervisor gives up and informs the caller.
 */

import { setTimeout as delay } from 'node:timers/promises'
import type { EmbeddedPostgres } from './server.ts'

export interface SupervisorOptions {
  /** Called with one sentence per event. */
  readonly log: (text: string) => void
  /** Called once, when the supervisor gives up. */
  readonly onGivenUp: (error: unknown) => void
  /** Returns the delay before an attempt; the first attempt is 1. */
  readonly delayMs?: (attempt: number) => number
}

export const MAX_RESTARTS = 10
const FIRST_DELAY_MS = 100
const MAX_DELAY_MS = 5_000
const STABLE_AFTER_MS = 60_000

/** No delay before the first attempt: most servers that die once start again immediately. */
export function restartDelayMs(attempt: number): number {
  return attempt <= 1 ? 0 : Math.min(MAX_DELAY_MS, FIRST_DELAY_MS * 2 ** (attempt - 2))
}

/** Supervises until the returned function is called; call it before stopping the database. */
export function superviseEmbeddedPostgres(server: EmbeddedPostgres, options: SupervisorOptions): () => void {
  const { log, onGivenUp, delayMs = restartDelayMs } = options
  const stopped = new AbortController()
  let attempts = 0
  let lastStartAt = Number.NEGATIVE_INFINITY
  let down = false
  let restarting = false

  const bringBack = async () => {
    if (performance.now() - lastStartAt > STABLE_AFTER_MS) attempts = 0
    const endedAt = performance.now()
    let failure: unknown = new Error('The embedded database keeps stopping.')
    while (attempts < MAX_RESTARTS) {
      attempts += 1
      await delay(delayMs(attempts), undefined, { signal: stopped.signal })
      try {
        await server.restart()
        lastStartAt = performance.now()
        log(`The database is available again after ${Math.round(lastStartAt - endedAt)} ms.`)
        return
      } catch (error) {
        if (stopped.signal.aborted) return
        failure = error
        log(`The database did not start (attempt ${attempts} of ${MAX_RESTARTS}): ${messageOf(error)}`)
      }
    }
    onGivenUp(failure)
  }

  // `down` records an end of the server during a restart, so that it is not missed.
  const keepUp = async () => {
    restarting = true
    while (down && !stopped.signal.aborted) {
      down = false
      log(`The database (pid ${server.pid}) stopped unexpectedly and is being restarted.`)
      await bringBack()
    }
    restarting = false
  }

  const unsubscribe = server.onExit(() => {
    down = true
    if (!restarting) keepUp().catch(() => {}) // Only a delay aborted by the end of supervision gets here.
  })
  return () => {
    unsubscribe()
    stopped.abort()
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
