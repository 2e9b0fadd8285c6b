import type { FastifyHttpOptions, RawServerDefault } from 'fastify'
import { type Certificate, secureOptions } from './tls/certificate.ts'

/** Limits on the resources that a client can use before its request is handled. */
export interface ConnectionLimits {
  /** Time within which the head of a request must arrive. */
  readonly headersTimeoutMs: number
  /** Time within which the whole request must arrive, including its body. */
  readonly requestTimeoutMs: number
  /** Maximum bytes of the head of a request. */
  readonly maxHeaderBytes: number
  /** Time within which the client must read a response. */
  readonly responseTimeoutMs: number
  /** Maximum number of open connections; further ones are closed. */
  readonly maxConnections: number
  /** Maximum number of open streams per caller. */
  readonly maxStreams: number
}

/** Node checks for late requests this many times within their time limit, and at least every second. */
const CHECKS = 4
const LONGEST_PAUSE_MS = 1_000

type ServerOptions = Pick<FastifyHttpOptions<RawServerDefault>, 'requestTimeout' | 'http'>

/** Returns Fastify's server options. With a certificate the server uses TLS, and the handshake counts as part of the head. */
export function serverOptions(
  { headersTimeoutMs, requestTimeoutMs, maxHeaderBytes }: ConnectionLimits,
  certificate: Certificate | null,
): ServerOptions {
  const headersTimeout = Math.min(headersTimeoutMs, requestTimeoutMs)
  const connectionsCheckingInterval = Math.min(LONGEST_PAUSE_MS, Math.ceil(headersTimeout / CHECKS))
  const http = {
    headersTimeout,
    // SlowSenders limits the time of whole requests, because it treats uploads differently.
    requestTimeout: 0,
    connectionsCheckingInterval,
    maxHeaderSize: maxHeaderBytes,
  }
  if (certificate === null) return { requestTimeout: 0, http }
  const https = { ...http, ...secureOptions(certificate), handshakeTimeout: headersTimeout }
  // Fastify's types tell the two servers apart, and nothing here does.
  return { requestTimeout: 0, https } as ServerOptions
}
