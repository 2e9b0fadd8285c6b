/** Errors as problem documents (RFC 9457): what was wrong, where, and what would be right; never a stack. */
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import { REFUSALS, Refusal, type RefusalCode } from '../../core/errors.ts'
import { troubleOf } from '../../store/database/database-trouble.ts'
import type { App } from '../app.ts'
import { setCommonHeaders } from './security-headers.ts'

/** A problem's type names it for ever; docs/reference/errors.md explains each. */
const PROBLEM_TYPES = 'urn:belfry:problem'
export const PROBLEM_TYPE = 'application/problem+json'
/** Addresses are repeated in answers up to this length. */
const MAX_PATH_CHARACTERS = 200

export function handleErrors(app: App): void {
  app.setErrorHandler((error: FastifyError, request, reply) =>
    refuse(toRefusal(error, request), request, reply),
  )
}

/** States that end only when an operator has done something, and are not worth asking about each second. */
const LASTING: ReadonlySet<RefusalCode> = new Set(['database_read_only', 'database_full'])

/** Seconds after which it makes sense to ask again. */
export const retryAfter = (code: RefusalCode) => (LASTING.has(code) ? '5' : '1')

/** Sends a refusal. */
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

/** The address of a request without its query, cut to a length that can be repeated. */
export function pathOf({ url }: { url: string }): string {
  return (url.split('?')[0] ?? '').slice(0, MAX_PATH_CHARACTERS)
}

/** What an error means for whoever sent the request. */
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

/** Fastify's own refusals, in our words. */
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
