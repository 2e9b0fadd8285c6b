/** Real servers on loopback ports for the tests of this folder; each closes when its test ends. */

import { createServer, type IncomingHttpHeaders, type RequestListener } from 'node:http'
import { type AddressInfo, createServer as createNetServer, type Server, type Socket } from 'node:net'
import { expect, onTestFinished } from 'vitest'
import { KeptLog } from '../../../test/support/logs.ts'
import type { HttpAction } from '../../core/action/action.ts'
import { Redactor } from '../../core/secret/redactor.ts'
import { DEFAULT_PROJECT_ID } from '../../core/values/default-project.ts'
import { type HttpClient, type HttpRequest, targetOf } from '../../outgoing/http-client.ts'
import type { Signer } from '../../outgoing/signer.ts'
import type { AttemptContext } from '../executor.ts'

export interface TestServer {
  readonly url: string
  readonly port: number
  /** Every connection accepted so far, closed ones included. */
  readonly sockets: readonly Socket[]
}

/** A server that speaks HTTP. */
export const httpServer = (listener: RequestListener) => listen(createServer(listener))

/** A server with a custom protocol: `onData` is called with each chunk that a client sends. */
export const rawServer = (onData: (socket: Socket, chunk: Buffer) => void) =>
  listen(createNetServer((socket) => socket.on('data', (chunk) => onData(socket, chunk))))

/** A server that answers every request with exactly these bytes and leaves the connection open. */
export const answering = (bytes: string | Buffer) => rawServer((socket) => socket.write(bytes))

async function listen(server: Server): Promise<TestServer> {
  const sockets: Socket[] = []
  server.on('connection', (socket: Socket) => {
    sockets.push(socket)
    socket.on('error', () => {})
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}/`, port, sockets }
}

/** Resolves when the connection is closed, in whatever way. */
export const closed = (socket: Socket | undefined) =>
  new Promise<void>((resolve) => {
    if (socket === undefined || socket.closed) resolve()
    else socket.once('close', () => resolve())
  })

/** Returns a port on which nothing listens. */
export async function closedPort(): Promise<number> {
  const server = createNetServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}

/** The signer of projects without secrets. */
export const unsigned: Signer = { sign: () => undefined }

/** The settings of projects without mail settings. */
export const NO_MAIL_SETTINGS = {
  settingsOf: async () => undefined,
  vault: {
    read: async () => ({ ok: true, values: new Map() }) as const,
    redactorOf: () => new Redactor([]),
  },
}

export const anAttempt = (override: Partial<AttemptContext> = {}): AttemptContext => ({
  runId: '0198c0de-0000-7000-8000-000000000001',
  taskId: '0198c0de-0000-7000-8000-000000000002',
  scheduledFor: Date.UTC(2026, 0, 2, 3, 4, 5, 6),
  attempt: 2,
  fence: 7,
  projectId: DEFAULT_PROJECT_ID,
  secrets: null,
  tracingId: null,
  traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
  log: new KeptLog(),
  now: () => Date.now(),
  signal: new AbortController().signal,
  isLost: false,
  ...override,
})

/** A request as the receiver got it. */
export interface Received {
  method: string | undefined
  headers: IncomingHttpHeaders
  body: string
}

/** A receiver that records its requests. */
export async function receiver() {
  const received: Received[] = []
  const server = await httpServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    received.push({ method: request.method, headers: request.headers, body })
    response.end('thanks')
  })
  return { url: server.url, received }
}

/** A server that answers every request with this status. */
export const statusServer = (status: number, headers: Record<string, string> = {}) =>
  httpServer((_request, response) => response.writeHead(status, headers).end('why'))

export const http = (url: string, more: Partial<HttpAction> = {}): HttpAction => ({
  type: 'http',
  url,
  method: 'GET',
  ...more,
})

/** Sends a plain GET, with the overrides given. */
export const sendBy = (client: HttpClient, url: string, override: Partial<Omit<HttpRequest, 'url'>> = {}) =>
  client.send({
    target: targetOf(new URL(url)),
    method: 'GET',
    headers: [],
    body: undefined,
    signal: new AbortController().signal,
    ...override,
  })

/** The expected result of a request that failed and may be retried. */
export const failure = (code: string, message: string | RegExp) => ({
  ok: false,
  failure: { error: { code, message: expect.stringMatching(message) }, retryable: true },
})

export const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'
