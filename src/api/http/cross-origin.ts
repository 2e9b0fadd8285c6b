/**
 * Decides which pages of other sites may read responses: only those of origins that the operator has named. They need an API
 * key: cookies are never accepted from them, so no response allows credentials.
 */

import type { FastifyReply, FastifyRequest } from 'fastify'
import { PROJECT_HEADER } from '../../core/access/project-header.ts'
import { REASON_HEADER } from '../../core/audit-log/reason.ts'
import type { App } from '../app.ts'

/** How long a browser may cache the response to a preflight request. */
const MAX_AGE_SECONDS = 600
const METHODS = 'GET, HEAD, POST, PUT, PATCH, DELETE'
/** Request headers that the API reads, beyond those that every page may send. */
const REQUEST_HEADERS = [
  'authorization',
  PROJECT_HEADER,
  REASON_HEADER,
  'content-range',
  'content-type',
  'idempotency-key',
  'if-match',
  'last-event-id',
  'range',
  'traceparent',
].join(', ')
/** Response headers that a page may read. */
const ANSWER_HEADERS =
  'content-range, etag, idempotent-replayed, link, location, ratelimit, ratelimit-policy, retry-after, x-request-id'
/** Caches keep the files of the dashboard, so responses with them must not depend on the origin. */
const ASSETS = /^\/assets\//

export function answerOtherOrigins(app: App, allowedOrigins: readonly string[]): void {
  if (allowedOrigins.length === 0) return
  const allowed = new Set(allowedOrigins)
  app.addHook('onRequest', async (request, reply) => {
    if (ASSETS.test(request.url)) return
    const { origin } = request.headers
    const isAllowed = origin !== undefined && allowed.has(origin)
    request.browserRules = {
      ...request.browserRules,
      vary: 'origin',
      ...(isAllowed ? permissionFor(origin) : {}),
    }
    if (isAllowed && isQuestion(request)) return answerQuestion(reply)
  })
}

const permissionFor = (origin: string) => ({
  'access-control-allow-origin': origin,
  'access-control-expose-headers': ANSWER_HEADERS,
})

/** Browsers send a preflight request before a request that a form could not make. */
const isQuestion = ({ method, headers }: FastifyRequest) =>
  method === 'OPTIONS' && headers['access-control-request-method'] !== undefined

const answerQuestion = (reply: FastifyReply) =>
  reply
    .code(204)
    .header('access-control-allow-methods', METHODS)
    .header('access-control-allow-headers', REQUEST_HEADERS)
    .header('access-control-max-age', String(MAX_AGE_SECONDS))
    .send()
