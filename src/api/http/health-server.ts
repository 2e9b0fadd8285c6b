import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { createServer as createTlsServer, Server as TlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import type { Service } from '../../runtime/service.ts'
import { urlOf } from './http-server.ts'
import type { Readiness } from './readiness.ts'
import { BROWSER_RULES } from './security-headers.ts'
import { type Certificate, secureOptions } from './tls/certificate.ts'

/** Probes send one request per connection; a client slower than this is not a probe. */
const REQUEST_TIMEOUT_MS = 5_000
const MAX_CONNECTIONS = 64

export interface HealthServerOptions {
  readonly readiness: Readiness
  readonly host: string
  readonly port: number
  /** Null if it serves without TLS. */
  readonly certificate: Certificate | null
}

/**
 * Serves `/healthz` and `/readyz` of a node without the api role, on a separate port. It exposes nothing else, so it needs no
 * key and accepts any host name.
 */
export class HealthServer implements Service {
  readonly #options: HealthServerOptions
  readonly #server: Server

  constructor(options: HealthServerOptions) {
    const { certificate } = options
    const times = { requestTimeout: REQUEST_TIMEOUT_MS }
    const answer = (request: IncomingMessage, response: ServerResponse) =>
      void this.#answer(request, response)
    this.#options = options
    this.#server =
      certificate === null
        ? createServer(times, answer)
        : createTlsServer(
            { ...times, ...secureOptions(certificate), handshakeTimeout: REQUEST_TIMEOUT_MS },
            answer,
          )
    this.#server.maxConnections = MAX_CONNECTIONS
  }

  show(certificate: Certificate): void {
    if (this.#server instanceof TlsServer) this.#server.setSecureContext(secureOptions(certificate))
  }

  get url(): string {
    const { host, certificate } = this.#options
    const { port } = this.#server.address() as AddressInfo
    return urlOf({ host, port, isSecure: certificate !== null })
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
    ...BROWSER_RULES,
    connection: 'close',
  })
  response.end(body === null ? '' : JSON.stringify(body))
}
