import type { IncomingMessage, Server, ServerResponse } from 'node:http'

/** Answers are looked at so often within the time that they have, and each second at least. */
const LOOKS = 4
const LONGEST_PAUSE_MS = 1_000

/**
 * Ends connections whose client does not take the answer that it has asked for. An answer waits when all of it was made,
 * or as much as there is room for, and some of it has not left; one of which nothing has left for too long is given up
 * with its connection. Streams of events have rules of their own, which are stricter.
 */
export class SlowReaders {
  readonly #limitMs: number
  /** Answers that are not over, and since when each waits. */
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
