import type { FastifyHttpOptions, RawServerDefault } from 'fastify'
import { type Certificate, secureOptions } from './tls/certificate.ts'

/** How much clients may take of the server before they have asked for anything. */
export interface ConnectionLimits {
  /** The head of a request has to be there after this time. */
  readonly headersTimeoutMs: number
  /** And all of it, its body included, after this. */
  readonly requestTimeoutMs: number
  /** Bytes of the head of a request. */
  readonly maxHeaderBytes: number
  /** An answer has to be taken within this time. */
  readonly responseTimeoutMs: number
  /** Open at once; what comes beyond is closed. */
  readonly maxConnections: number
  /** Streams that one caller may have open. */
  readonly maxStreams: number
}

/** Node looks for requests that are late this often: a quarter of the time that they have, and each second at least. */
const CHECKS = 4
const LONGEST_PAUSE_MS = 1_000

type ServerOptions = Pick<FastifyHttpOptions<RawServerDefault>, 'requestTimeout' | 'http'>

/** What Fastify makes its server with. With a certificate it speaks TLS, and a handshake is part of the head. */
export function serverOptions(
  { headersTimeoutMs, requestTimeoutMs, maxHeaderBytes }: ConnectionLimits,
  certificate: Certificate | null,
): ServerOptions {
  const headersTimeout = Math.min(headersTimeoutMs, requestTimeoutMs)
  const connectionsCheckingInterval = Math.min(LONGEST_PAUSE_MS, Math.ceil(headersTimeout / CHECKS))
  const http = {
    headersTimeout,
    // Whole requests are timed by SlowSenders, which know uploads.
    requestTimeout: 0,
    connectionsCheckingInterval,
    maxHeaderSize: maxHeaderBytes,
  }
  if (certificate === null) return { requestTimeout: 0, http }
  const https = { ...http, ...secureOptions(certificate), handshakeTimeout: headersTimeout }
  // Fastify's types tell the two servers apart, and nothing here does.
  return { requestTimeout: 0, https } as ServerOptions
}
