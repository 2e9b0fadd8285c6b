import type { AddressInfo } from 'node:net'
import type { Service } from '../runtime/service.ts'
import type { App } from './app.ts'

/** The application on a port. Stopping lets requests that are under way finish. */
export class HttpServer implements Service {
  readonly #options: { app: App; host: string; port: number }

  constructor(options: { app: App; host: string; port: number }) {
    this.#options = options
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
    await this.#options.app.close()
  }
}
