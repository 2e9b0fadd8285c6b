/**
 * A client that follows completion events over server-sent events. Events are sent one by one, as fast as the client reads, and
 * nothing is kept for it beyond the current page; a client that does not read at all gets a final event and is disconnected.
 */
import type { ServerResponse } from 'node:http'
import { beginStream } from '../../http/begin-stream.ts'
import { onceClosed } from '../../http/once-closed.ts'

/** A client that has not read for this long is disconnected. */
export const STUCK_MS = 30_000
/** How long the final event to a client may take. */
const LAST_WORD_MS = 2_000

/** An item of a stream: an event, or only the current position. */
export interface EventText {
  readonly id: string
  readonly event?: string
  /** JSON. */
  readonly data?: string
}

export interface EventClientOptions {
  readonly response: ServerResponse
  readonly headers: Readonly<Record<string, string>>
  readonly stuckMs?: number
}

export class EventClient {
  readonly #response: ServerResponse
  readonly #stuckMs: number
  readonly #gone = new AbortController()

  constructor({ response, headers, stuckMs = STUCK_MS }: EventClientOptions) {
    this.#response = response
    this.#stuckMs = stuckMs
    onceClosed(response, () => this.#gone.abort())
    beginStream(response, headers)
  }

  /** Aborted when the client has disconnected or its stream was ended. */
  get gone(): AbortSignal {
    return this.#gone.signal
  }

  /** How long a client should wait before it reconnects after the stream has ended. */
  adviseRetry(ms: number): void {
    this.#write(`retry: ${ms}\n\n`)
  }

  send({ id, event, data }: EventText): void {
    if (event === undefined) this.#write(`: still here\nid: ${id}\n\n`)
    else this.#write(`event: ${event}\nid: ${id}\ndata: ${data}\n\n`)
  }

  /** Whether the buffer of the client is full, so that nothing more should be sent until it has read. */
  get mustRead(): boolean {
    return this.#response.writableNeedDrain
  }

  /** Resolves once the client has read nearly everything; false if it does not in time. */
  hasRead(): Promise<boolean> {
    const response = this.#response
    if (!response.writableNeedDrain) return Promise.resolve(true)
    return new Promise((resolve) => {
      const settle = (hasRead: boolean) => {
        clearTimeout(timer)
        response.off('drain', onDrain)
        this.#gone.signal.removeEventListener('abort', onGone)
        resolve(hasRead)
      }
      const onDrain = () => settle(true)
      const onGone = () => settle(true)
      const timer = setTimeout(() => settle(false), this.#stuckMs)
      timer.unref()
      response.once('drain', onDrain)
      this.#gone.signal.addEventListener('abort', onGone)
    })
  }

  /** Sends a final event, after everything that the client has not read yet, and ends the stream. */
  end(event: string, data: string): void {
    this.#write(`event: ${event}\ndata: ${data}\n\n`)
    this.#response.end()
    const timer = setTimeout(() => this.#response.destroy(), LAST_WORD_MS)
    timer.unref()
    this.#gone.abort()
  }

  #write(text: string): void {
    if (!this.#response.destroyed && !this.#response.writableEnded) this.#response.write(text)
  }
}
