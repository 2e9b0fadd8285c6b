/**
 * A client that watches changes over server-sent events. The node never waits for it: while it does not read, nothing is kept
 * for it, and once it reads again it gets a `reload` event. A client that does not read at all is disconnected.
 */
import type { ServerResponse } from 'node:http'
import { BEAT_MS, beginStream } from '../../http/begin-stream.ts'

/** A client that has not read for this long is disconnected. */
const STUCK_MS = 30_000

/** An event of a stream. */
export interface StreamEvent {
  readonly event: 'hello' | 'changes' | 'reload'
  /** JSON. */
  readonly data: string
  /** The instant up to which the client knows all changes; the client sends it back when it reconnects. */
  readonly id: number
}

export interface EventStreamOptions {
  readonly response: ServerResponse
  readonly headers: Readonly<Record<string, string>>
  /** Returns the event that informs a client that it has missed changes. */
  reload(): StreamEvent
  onEnd(): void
}

export class EventStream {
  readonly #options: EventStreamOptions
  readonly #beat: NodeJS.Timeout
  /** Since when the client has not read. */
  #stuckSince: number | null = null
  #hasMissed = false

  constructor(options: EventStreamOptions) {
    this.#options = options
    const { response, headers } = options
    response.on('drain', () => this.#readsAgain())
    response.once('close', () => this.#ended())
    beginStream(response, headers)
    this.#beat = setInterval(() => this.#showLife(), BEAT_MS)
    this.#beat.unref()
  }

  send({ event, data, id }: StreamEvent): void {
    if (this.#stuckSince !== null) {
      this.#hasMissed = true
      return
    }
    this.#write(`event: ${event}\nid: ${id}\ndata: ${data}\n\n`)
  }

  /** How long a client should wait before it reconnects after the stream has ended. */
  adviseRetry(ms: number): void {
    this.#write(`retry: ${ms}\n\n`)
  }

  end(): void {
    const { response } = this.#options
    response.end()
    // A stream whose client does not read cannot be ended gracefully.
    if (this.#stuckSince !== null) response.destroy()
  }

  #write(text: string): void {
    const { response } = this.#options
    if (response.destroyed || response.writableEnded) return
    if (!response.write(text)) this.#stuckSince ??= performance.now()
  }

  #showLife(): void {
    if (this.#stuckSince === null) this.#write(': still here\n\n')
    else if (performance.now() - this.#stuckSince > STUCK_MS) this.#options.response.destroy()
  }

  #readsAgain(): void {
    this.#stuckSince = null
    if (!this.#hasMissed) return
    this.#hasMissed = false
    this.send(this.#options.reload())
  }

  #ended(): void {
    clearInterval(this.#beat)
    this.#options.onEnd()
  }
}
