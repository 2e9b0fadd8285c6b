import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Service } from '../../runtime/service.ts'
import type { Readiness } from './readiness.ts'

/** Probes ask one thing on one connection; whoever is slower than this is no probe. */
const REQUEST_TIMEOUT_MS = 5_000
const MAX_CONNECTIONS = 64

/**
 * `/healthz` and `/readyz` of a node without the api role, on a port of its own. It tells nothing else, so it needs
 * no key and answers under any host name.
 */
export class HealthServer implements Service {
  readonly #options: { readonly readiness: Readiness; readonly host: string; readonly port: number }
  readonly #server = createServer({ requestTimeout: REQUEST_TIMEOUT_MS }, (request, response) => {
    void this.#answer(request, response)
  })

  constructor(options: { readonly readiness: Readiness; readonly host: string; readonly port: number }) {
    this.#options = options
    this.#server.maxConnections = MAX_CONNECTIONS
  }

  get url(): string {
    const { host } = this.#options
    const { port } = this.#server.address() as AddressInfo
    return `http://${host.includes(':') ? `[${host}]` : host}:${port}`
  }

  start(): Promise<void> {
    const { host, port } = this.#options
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject)
      this.#server.listen({ host, port }, resolve)
    })
  }

  stop(): Promise<void> {
    return new Promise((resolve) => {
      this.#server.close(() => resolve())
      this.#server.closeAllConnections()
    })
  }

  async #answer({ url = '', method = '' }: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = url.split('?')[0]
    if (method !== 'GET' && method !== 'HEAD') return send(response, 405, { allow: 'GET, HEAD' }, null)
    if (path === '/healthz') return send(response, 200, {}, { status: 'ok' })
    if (path !== '/readyz') return send(response, 404, {}, null)
    const { status, headers, body } = await this.#options.readiness.answer()
    send(response, status, headers, body)
  }
}

function send(
  response: ServerResponse,
  status: number,
  headers: Readonly<Record<string, string>>,
  body: object | null,
): void {
  response.writeHead(status, {
    ...headers,
    'content-type': 'application/json; charset=utf-8',
    'cache-control': 'no-store',
    connection: 'close',
  })
  response.end(body === null ? '' : JSON.stringify(body))
}
