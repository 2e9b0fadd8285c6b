import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import type { Service } from '../../runtime/service.ts'
import type { App } from '../app.ts'

export interface HttpServerOptions {
  readonly app: App
  readonly host: string
  readonly port: number
  /** Hears the port, which the system may have chosen. */
  readonly onListening?: (port: number) => void
}

/**
 * The application on a port. Stopping lets requests that are under way finish, and closes all other connections,
 * also those on which nothing was ever sent: clients make some in advance, and Node would wait a minute for
 * a request on each.
 */
export class HttpServer implements Service {
  readonly #options: HttpServerOptions
  /** Connections without a request under way. */
  readonly #waiting = new Set<Socket>()
  #isStopping = false

  constructor(options: HttpServerOptions) {
    this.#options = options
    const { server } = options.app
    server.on('connection', (socket: Socket) => {
      this.#wait(socket)
      socket.once('close', () => this.#waiting.delete(socket))
    })
    server.on('request', ({ socket }: IncomingMessage, response: ServerResponse) => {
      this.#waiting.delete(socket)
      response.once('close', () => this.#wait(socket))
    })
  }

  #wait(socket: Socket): void {
    if (this.#isStopping) socket.destroySoon()
    else if (!socket.destroyed) this.#waiting.add(socket)
  }

  get url(): string {
    const { host } = this.#options
    return `http://${host.includes(':') ? `[${host}]` : host}:${this.#port}`
  }

  get #port(): number {
    return (this.#options.app.server.address() as AddressInfo).port
  }

  async start(): Promise<void> {
    const { app, host, port, onListening } = this.#options
    await app.listen({ host, port })
    onListening?.(this.#port)
  }

  async stop(): Promise<void> {
    this.#isStopping = true
    const closed = this.#options.app.close()
    for (const socket of this.#waiting) socket.destroy()
    await closed
  }
}
