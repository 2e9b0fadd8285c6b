/** Presents errors as problem documents (RFC 9457): what was wrong, where, and what would be correct; never a stack trace. */
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import { REFUSALS, Refusal, type RefusalCode } from '../../core/errors.ts'
import { troubleOf } from '../../store/database/database-trouble.ts'
import type { App } from '../app.ts'
import { setCommonHeaders } from './security-headers.ts'

/** Prefix of problem types, which never change; docs/reference/errors.md explains each of them. */
const PROBLEM_TYPES = 'urn:belfry:problem'
export const PROBLEM_TYPE = 'application/problem+json'
/** Maximum length of a path that is repeated in a response. */
const MAX_PATH_CHARACTERS = 200

export function handleErrors(app: App): void {
  app.setErrorHandler((error: FastifyError, request, reply) =>
    refuse(toRefusal(error, request), request, reply),
  )
}

/** Errors that last until an operator acts, so that retrying each second is pointless. */
const LASTING: ReadonlySet<RefusalCode> = new Set(['database_read_only', 'database_full'])

/** Returns the seconds after which a client should retry. */
export const retryAfter = (code: RefusalCode) => (LASTING.has(code) ? '5' : '1')

/** Sends an error response. */
export function refuse(refusal: Refusal, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const { status } = REFUSALS[refusal.code]
  setCommonHeaders(request, reply)
  if (status === 401) reply.header('www-authenticate', 'Bearer realm="belfry"')
  if (status === 503) reply.header('retry-after', retryAfter(refusal.code))
  if (refusal.retryAfterSeconds !== undefined) reply.header('retry-after', String(refusal.retryAfterSeconds))
  return reply
    .code(status)
    .header('content-type', PROBLEM_TYPE)
    .serializer(JSON.stringify)
    .send(problemDocument(refusal, { path: pathOf(request), requestId: request.id }))
}

export function problemDocument(refusal: Refusal, { path, requestId }: { path: string; requestId: string }) {
  const { status, title } = REFUSALS[refusal.code]
  return {
    type: `${PROBLEM_TYPES}:${refusal.code}`,
    title,
    status,
    detail: refusal.message,
    code: refusal.code,
    instance: path,
    requestId,
    ...(refusal.problems.length > 0 ? { errors: refusal.problems } : {}),
    ...refusal.extra,
  }
}

/** Returns the path of a request, without its query and cut to a bounded length. */
export function pathOf({ url }: { url: string }): string {
  return (url.split('?')[0] ?? '').slice(0, MAX_PATH_CHARACTERS)
}

/** Returns the error response for an error. */
export function toRefusal(error: FastifyError, request: FastifyRequest): Refusal {
  if (error instanceof Refusal) return error
  const trouble = troubleOf(error)
  if (trouble) {
    request.log.warn({ err: error }, 'database error')
    return new Refusal(trouble.code, `${trouble.detail} It is unknown whether the request was stored.`)
  }
  const known = fastifyRefusal(error, request)
  if (known) return known
  request.log.error({ err: error }, 'request failed')
  return new Refusal(
    'internal',
    `The request failed. For the cause, look up the request id ${request.id} in the server log.`,
  )
}

/** Translates Fastify's own errors into Belfry's. */
function fastifyRefusal(error: FastifyError, request: FastifyRequest): Refusal | undefined {
  const { code, statusCode, message } = error
  if (code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE')
    return new Refusal(
      'unsupported_media_type',
      'Send the body with the header content-type: application/json.',
    )
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE') {
    const limit = `${request.routeOptions.bodyLimit} bytes`
    return new Refusal('payload_too_large', `The body must not be larger than ${limit}.`)
  }
  if (statusCode === undefined || statusCode < 400 || statusCode >= 500) return undefined
  return new Refusal('malformed_request' satisfies RefusalCode, `${message.replace(/\.$/, '')}.`)
}
