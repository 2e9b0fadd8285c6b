/**
 * Resources that this process can run out of while it connects. A call that fails for this reason is delayed and does not count
 * against its target.
 */
import { closeSync, openSync } from 'node:fs'
import { devNull } from 'node:os'
import type { Connector } from './address-guard.ts'

const SHORTAGES: ReadonlySet<unknown> = new Set(['EMFILE', 'ENFILE', 'ENOBUFS', 'ENOMEM'])

/** How long a connection waits before it is tried again. */
export const SHORTAGE_RETRY_MS = 200

export const isShortage = (error: object): boolean => 'code' in error && SHORTAGES.has(error.code)

/** Whether no further file can be opened now. c-ares and getaddrinfo do not report that they failed for this reason. */
export function isOutOfFiles(): boolean {
  try {
    closeSync(openSync(devNull, 'r'))
    return false
  } catch (error) {
    return isShortage(error as Error)
  }
}

/** Connections that wait because this process has run out of something. */
export class Shortage {
  #waiting = 0

  get isNow(): boolean {
    return this.#waiting > 0
  }

  /** Wraps a connector so that it retries during a shortage, for as long as connecting may take. */
  outlasting(connect: Connector, timeoutMs: number): Connector {
    return (options, callback) => {
      const until = performance.now() + timeoutMs
      const attempt = () =>
        connect(options, (...result) => {
          const [error] = result
          const isOver = performance.now() + SHORTAGE_RETRY_MS >= until
          if (error === null || !isShortage(error) || isOver) return callback(...result)
          this.#waiting++
          setTimeout(() => {
            this.#waiting--
            attempt()
          }, SHORTAGE_RETRY_MS)
        })
      attempt()
    }
  }
}
