import type { IncomingMessage, Server, ServerResponse } from 'node:http'

/** Responses are checked this many times within their time limit, and at least every second. */
const LOOKS = 4
const LONGEST_PAUSE_MS = 1_000

/**
 * Closes connections whose client does not read the response that it has requested. A response waits if it is complete, or its
 * buffer is full, and some of it has not been sent; if none of it has been sent for too long, its connection is closed. Streams
 * of events have stricter rules of their own.
 */
export class SlowReaders {
  readonly #limitMs: number
  /** Responses that are not complete, and since when each has waited. */
  readonly #waitingSince = new Map<ServerResponse, number | null>()
  readonly #timer: NodeJS.Timeout

  constructor(server: Server, limitMs: number) {
    this.#limitMs = limitMs
    server.on('request', (_: IncomingMessage, response: ServerResponse) => {
      this.#waitingSince.set(response, null)
      response.on('drain', () => this.#waitingSince.set(response, null))
      response.once('close', () => this.#waitingSince.delete(response))
    })
    this.#timer = setInterval(() => this.#look(), Math.min(LONGEST_PAUSE_MS, Math.ceil(limitMs / LOOKS)))
    this.#timer.unref()
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  #look(): void {
    const now = performance.now()
    for (const [response, since] of this.#waitingSince) {
      const isWaiting = response.writableNeedDrain || (response.writableEnded && !response.writableFinished)
      if (!isWaiting) this.#waitingSince.set(response, null)
      else if (since === null) this.#waitingSince.set(response, now)
      else if (now - since >= this.#limitMs) response.socket?.destroy()
    }
  }
}
