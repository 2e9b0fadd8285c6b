/**
 * Brings the embedded database back when it dies under us, so that a killed server is a pause and not
 * the end. Attempts are bounded: they are counted until the server has stayed up for a while, so one that
 * keeps dying is given up on, and the caller is told.
 */

import { setTimeout as delay } from 'node:timers/promises'
import type { EmbeddedPostgres } from './server.ts'

export interface SupervisorOptions {
  /** Hears what happened, one sentence at a time. */
  readonly log: (text: string) => void
  /** Called once, when the database will not be brought back any more. */
  readonly onGivenUp: (error: unknown) => void
  /** How long to wait before an attempt, the first being 1. */
  readonly delayMs?: (attempt: number) => number
}

export const MAX_RESTARTS = 10
const FIRST_DELAY_MS = 100
const MAX_DELAY_MS = 5_000
const STABLE_AFTER_MS = 60_000

/** No wait before the first try: most servers that die once come back at once. */
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

  // A server that dies again before the last restart is over must not be missed: `down` says it has.
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
    if (!restarting) keepUp().catch(() => {}) // Only a wait cut short by the end of supervision gets here.
  })
  return () => {
    unsubscribe()
    stopped.abort()
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
