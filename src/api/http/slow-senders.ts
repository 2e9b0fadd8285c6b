import type { IncomingMessage, Server } from 'node:http'

/** Requests are checked this many times within their time limit, and at least every second. */
const LOOKS = 4
const LONGEST_PAUSE_MS = 1_000

/** Requests whose bodies may be long. */
const uploads = new WeakSet<IncomingMessage>()

/** Allows the request to take any time from now on, as long as bytes of its body keep arriving. */
export const allowLongBody = (request: IncomingMessage): void => void uploads.add(request)

interface Receiving {
  since: number
  bytesRead: number
}

/**
 * Closes connections whose client does not send the body that it has begun. Node has a single limit for all requests, which
 * would also end the upload of a file.
 */
export class SlowSenders {
  readonly #server: Server
  readonly #limitMs: number
  readonly #receiving = new Map<IncomingMessage, Receiving>()
  readonly #timer: NodeJS.Timeout

  constructor(server: Server, limitMs: number) {
    this.#server = server
    this.#limitMs = limitMs
    server.on('request', (request: IncomingMessage) => {
      if (!hasBody(request)) return
      this.#receiving.set(request, { since: performance.now(), bytesRead: request.socket.bytesRead })
      request.once('close', () => this.#receiving.delete(request))
    })
    this.#timer = setInterval(() => this.#look(), Math.min(LONGEST_PAUSE_MS, Math.ceil(limitMs / LOOKS)))
    this.#timer.unref()
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  #look(): void {
    const now = performance.now()
    for (const [request, receiving] of this.#receiving) {
      if (request.complete) {
        this.#receiving.delete(request)
        continue
      }
      const { bytesRead } = request.socket
      if (uploads.has(request) && bytesRead > receiving.bytesRead) {
        receiving.since = now
        receiving.bytesRead = bytesRead
      } else if (now - receiving.since >= this.#limitMs) this.#end(request)
    }
  }

  #end(request: IncomingMessage): void {
    this.#receiving.delete(request)
    const error = Object.assign(new Error('Request timeout'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' })
    this.#server.emit('clientError', error, request.socket)
  }
}

const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
