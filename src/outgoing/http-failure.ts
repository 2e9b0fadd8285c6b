/**
 * Maps every failure of a connection to an error with a stable code and a message that users can act on. The message names the
 * host as the task does, never the address behind it: the task's owner must not learn what an internal name resolves to.
 */
import { errors } from 'undici'
import type { AttemptError } from '../core/run/outcome.ts'
import { ForbiddenAddressError } from './address-guard.ts'

export const HTTP_FAILURE_CODES = [
  'aborted',
  'body_timeout',
  'connect_refused',
  'connect_timeout',
  'connection_closed',
  'connection_reset',
  'dns_not_found',
  'dns_unavailable',
  'first_byte_timeout',
  'forbidden_address',
  'invalid_request',
  'network_error',
  'network_unreachable',
  'protocol_error',
  'settings_unavailable',
  'tls_error',
  'worker_exhausted',
] as const
export type HttpFailureCode = (typeof HTTP_FAILURE_CODES)[number]

/** A failed request, as an error message, and whether another attempt may help. */
export interface HttpFailure {
  readonly error: AttemptError & { readonly code: HttpFailureCode }
  readonly retryable: boolean
}

/** How far a request had come when it failed. */
export interface FailedCall {
  readonly url: URL
  /** Whether a byte of the request may have reached the far end. */
  readonly sent: boolean
  /** The status, if the head of a response arrived. */
  readonly status: number | undefined
}

/** A response that violates a limit or a rule of this client. */
export class ProtocolViolation extends Error {
  readonly code = 'protocol_violation'
}

export function describeFailure(cause: Error, call: FailedCall): HttpFailure {
  const code = classify(cause, call)
  return {
    error: {
      code,
      message: messageFor(code, cause, call),
      ...(call.status === undefined ? {} : { detail: { status: call.status } }),
    },
    retryable: !FINAL_CODES.has(code),
  }
}

/** Failures that another attempt cannot change. */
const FINAL_CODES: ReadonlySet<HttpFailureCode> = new Set(['forbidden_address', 'invalid_request'])

const CODES: Readonly<Record<string, HttpFailureCode>> = {
  EADDRNOTAVAIL: 'network_unreachable',
  EAI_AGAIN: 'dns_unavailable',
  ECONNABORTED: 'connection_reset',
  ECONNREFUSED: 'connect_refused',
  ECONNRESET: 'connection_reset',
  EHOSTDOWN: 'network_unreachable',
  EHOSTUNREACH: 'network_unreachable',
  EMFILE: 'worker_exhausted',
  ENETDOWN: 'network_unreachable',
  ENETUNREACH: 'network_unreachable',
  ENFILE: 'worker_exhausted',
  ENOBUFS: 'worker_exhausted',
  ENOMEM: 'worker_exhausted',
  ENOTFOUND: 'dns_not_found',
  EPIPE: 'connection_reset',
  UND_ERR_ABORTED: 'aborted',
  UND_ERR_BODY_TIMEOUT: 'body_timeout',
  UND_ERR_CLOSED: 'aborted',
  UND_ERR_CONNECT_TIMEOUT: 'connect_timeout',
  UND_ERR_DESTROYED: 'aborted',
  UND_ERR_HEADERS_OVERFLOW: 'protocol_error',
  UND_ERR_HEADERS_TIMEOUT: 'first_byte_timeout',
  UND_ERR_INVALID_ARG: 'invalid_request',
  UND_ERR_NOT_SUPPORTED: 'invalid_request',
  forbidden_address: 'forbidden_address',
  protocol_violation: 'protocol_error',
  settings_unread: 'settings_unavailable',
}

/** OpenSSL's codes for a failed handshake or certificate; Node passes them on. */
const TLS_CODE =
  /^(ERR_TLS_|ERR_SSL_|CERT_|CRL_|UNABLE_TO_|EPROTO$|HOSTNAME_MISMATCH|INVALID_CA|INVALID_PURPOSE)|SELF_SIGNED/

function classify(cause: Error, { sent, status }: FailedCall): HttpFailureCode {
  const code = 'code' in cause ? String(cause.code) : ''
  // The kernel uses this code both for connecting and for an established connection.
  if (code === 'ETIMEDOUT') return sent ? 'connection_reset' : 'connect_timeout'
  // undici uses this code both for a closed connection and for an invalid response.
  if (code === 'UND_ERR_SOCKET')
    return cause.message.startsWith('bad ') ? 'protocol_error' : 'connection_closed'
  // undici also reports a malformed head that contains a content-length this way.
  if (code === 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH') {
    return status === undefined ? 'protocol_error' : 'connection_closed'
  }
  // Parser errors have no distinct codes; only this reason means a closed connection rather than a violation.
  if (cause instanceof errors.HTTPParserError) {
    return cause.message.includes('Invalid EOF state') ? 'connection_closed' : 'protocol_error'
  }
  const known = CODES[code]
  if (known !== undefined) return known
  if (TLS_CODE.test(code)) return 'tls_error'
  if ('syscall' in cause && cause.syscall === 'getaddrinfo') return 'dns_unavailable'
  return 'network_error'
}

function messageFor(code: HttpFailureCode, cause: Error, { url, status }: FailedCall): string {
  const peer = url.port === '' ? url.hostname : url.host
  const when = status === undefined ? 'before responding' : `in the middle of its response (HTTP ${status})`
  switch (code) {
    case 'aborted':
      return `the request to ${peer} was stopped ${when}`
    case 'body_timeout':
      return `${peer} stopped sending data ${when}`
    case 'connect_refused':
      return `connection refused by ${withPort(url)}`
    case 'connect_timeout':
      return `timed out connecting to ${withPort(url)}`
    case 'connection_closed':
      return `${peer} closed the connection ${when}`
    case 'connection_reset':
      return `connection reset by ${peer} ${when}`
    case 'dns_not_found':
      return `the host ${url.hostname} does not exist`
    case 'dns_unavailable':
      return `the host ${url.hostname} could not be resolved: DNS did not respond`
    case 'first_byte_timeout':
      return `${peer} did not respond in time`
    case 'forbidden_address':
      return `requests to ${url.hostname} are not allowed: its address is ${kindOf(cause)}`
    case 'invalid_request':
      return `the request could not be sent: ${cause.message}`
    case 'network_error':
      return `the request to ${peer} failed: ${cause.message}`
    case 'network_unreachable':
      return `no route to ${peer}`
    case 'protocol_error':
      return `${peer} did not respond with valid HTTP: ${cause.message}`
    case 'settings_unavailable':
      return cause.message
    case 'tls_error':
      return `TLS connection to ${peer} failed: ${reasonOf(cause)}`
    case 'worker_exhausted':
      return `the worker ran out of sockets or memory while connecting to ${peer}`
    default:
      return code satisfies never
  }
}

function withPort(url: URL): string {
  return url.port === '' ? `${url.hostname}:${url.protocol === 'https:' ? 443 : 80}` : url.host
}

function kindOf(cause: Error): string {
  return cause instanceof ForbiddenAddressError ? cause.kind : 'forbidden'
}

/** OpenSSL's messages contain its source file and line; the reason alone states the problem. */
function reasonOf(cause: Error): string {
  return 'reason' in cause && typeof cause.reason === 'string' ? cause.reason : cause.message
}
