import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import type { Service } from '../runtime/service.ts'
import type { App } from './app.ts'

/**
 * The application on a port. Stopping lets requests that are under way finish, and closes all other connections,
 * also those on which nothing was ever sent: clients make some in advance, and Node would wait a minute for
 * a request on each.
 */
export class HttpServer implements Service {
  readonly #options: { app: App; host: string; port: number }
  /** Connections without a request under way. */
  readonly #waiting = new Set<Socket>()
  #isStopping = false

  constructor(options: { app: App; host: string; port: number }) {
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
    const { port } = this.#options.app.server.address() as AddressInfo
    return `http://${host.includes(':') ? `[${host}]` : host}:${port}`
  }

  async start(): Promise<void> {
    const { app, host, port } = this.#options
    await app.listen({ host, port })
  }

  async stop(): Promise<void> {
    this.#isStopping = true
    const closed = this.#options.app.close()
    for (const socket of this.#waiting) socket.destroy()
    await closed
  }
}
