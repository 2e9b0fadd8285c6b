import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { Server as TlsServer } from 'node:tls'
import type { Service } from '../../runtime/service.ts'
import type { App } from '../app.ts'
import { type Certificate, secureOptions } from './tls/certificate.ts'

export interface HttpServerOptions {
  readonly app: App
  readonly host: string
  readonly port: number
  /** Called with the port, which the system may have chosen. */
  readonly onListening?: (port: number) => void
}

/**
 * Serves the application on a port. Stopping lets requests in progress finish and closes all other connections, including those
 * on which nothing was ever sent: clients open some in advance, and Node would wait a minute for a request on each.
 */
export class HttpServer implements Service {
  readonly #options: HttpServerOptions
  /** Connections without a request in progress. */
  readonly #waiting = new Set<Socket>()
  /** Connections whose TLS handshake is not complete, by the addresses and ports of both ends. */
  readonly #handshaking = new Map<string, Socket>()
  #isStopping = false

  constructor(options: HttpServerOptions) {
    this.#options = options
    const { server } = options.app
    if (server instanceof TlsServer) {
      server.on('connection', (socket: Socket) => this.#expect(socket))
      server.on('secureConnection', (socket: Socket) => {
        this.#handshaking.delete(routeOf(socket))
        this.#accept(socket)
      })
    } else server.on('connection', (socket: Socket) => this.#accept(socket))
    server.on('request', ({ socket }: IncomingMessage, response: ServerResponse) => {
      this.#waiting.delete(socket)
      response.once('close', () => this.#wait(socket))
    })
  }

  /** Tracks a connection during its TLS handshake. Requests arrive on another socket, which is layered on top of this one. */
  #expect(socket: Socket): void {
    const route = routeOf(socket)
    this.#handshaking.set(route, socket)
    socket.once('close', () => this.#handshaking.delete(route))
  }

  #accept(socket: Socket): void {
    this.#wait(socket)
    socket.once('close', () => this.#waiting.delete(socket))
  }

  #wait(socket: Socket): void {
    if (this.#isStopping) socket.destroySoon()
    else if (!socket.destroyed) this.#waiting.add(socket)
  }

  show(certificate: Certificate): void {
    const { server } = this.#options.app
    if (server instanceof TlsServer) server.setSecureContext(secureOptions(certificate))
  }

  get url(): string {
    const { app, host } = this.#options
    return urlOf({ host, port: this.#port, isSecure: app.server instanceof TlsServer })
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
    for (const socket of [...this.#waiting, ...this.#handshaking.values()]) socket.destroy()
    await closed
  }
}

/** Identifies a connection: no two open connections have the same addresses and ports. */
const routeOf = ({ remoteAddress, remotePort, localAddress, localPort }: Socket) =>
  `${remoteAddress} ${remotePort} ${localAddress} ${localPort}`

/** Returns the URL of a server. */
export const urlOf = ({ host, port, isSecure }: { host: string; port: number; isSecure: boolean }) =>
  `${isSecure ? 'https' : 'http'}://${host.includes(':') ? `[${host}]` : host}:${port}`
