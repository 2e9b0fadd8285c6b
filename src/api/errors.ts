/** Errors as problem documents (RFC 9457): what was wrong, where, and what would be right; never a stack. */
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { hasZodFastifySchemaValidationErrors } from 'fastify-type-provider-zod'
import { type Problem, REFUSALS, Refusal, type RefusalCode } from '../core/errors.ts'
import { isUnavailable } from '../store/database.ts'

const DOCUMENTATION = 'https://belfry.dev/errors'
const MAX_PROBLEMS = 20

/** Fastify's own refusals, in our words. */
const FASTIFY_CODES: Readonly<Record<string, RefusalCode>> = {
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'unsupported_media_type',
  FST_ERR_CTP_BODY_TOO_LARGE: 'payload_too_large',
}

export function handleErrors(app: FastifyInstance): void {
  app.setErrorHandler((error: FastifyError, request, reply) =>
    answer(toRefusal(error, request), request, reply),
  )
  app.setNotFoundHandler((request, reply) =>
    answer(
      new Refusal(
        'not_found',
        `There is nothing at ${request.method} ${request.url.split('?')[0]}. The API is described at /docs.`,
      ),
      request,
      reply,
    ),
  )
}

function toRefusal(error: FastifyError, request: FastifyRequest): Refusal {
  if (error instanceof Refusal) return error
  if (hasZodFastifySchemaValidationErrors(error)) return invalidInput(error)
  if (isUnavailable(error)) {
    request.log.warn({ err: error }, 'the database cannot be reached')
    return new Refusal(
      'unavailable',
      'The database does not answer. Nothing is known to have been stored; try again.',
    )
  }
  const code = FASTIFY_CODES[error.code]
  if (code) return new Refusal(code, error.message)
  if (error.statusCode !== undefined && error.statusCode >= 400 && error.statusCode < 500)
    return new Refusal('malformed_request', error.message)
  request.log.error({ err: error }, 'request failed')
  return new Refusal(
    'internal',
    `The request failed. The log of the server tells why, under the request id ${request.id}.`,
  )
}

interface ZodIssues {
  readonly validationContext?: string
  readonly validation: readonly { instancePath: string; message?: string; params: { issue?: unknown } }[]
}

function invalidInput(error: ZodIssues): Refusal {
  const isQuery = error.validationContext === 'querystring'
  const problems = error.validation.flatMap(({ instancePath, message, params }) =>
    unfold(instancePath, message ?? 'is not valid', params.issue).map(
      ({ pointer, detail }): Problem => ({ pointer: isQuery ? `?${pointer.slice(1)}` : pointer, detail }),
    ),
  )
  const summary = problems
    .slice(0, 3)
    .map(({ pointer, detail }) => `${pointer === '' ? 'the body' : pointer} ${detail}`)
  return new Refusal('invalid_input', `${summary.join('; ')}.`, { problems: problems.slice(0, MAX_PROBLEMS) })
}

/** Unknown fields are told one by one, each at its own place. */
function unfold(pointer: string, message: string, issue: unknown): Problem[] {
  const keys =
    (issue as { code?: string; keys?: string[] } | undefined)?.code === 'unrecognized_keys'
      ? (issue as { keys: string[] }).keys
      : undefined
  if (keys)
    return keys.map((key) => ({ pointer: `${pointer}/${key.slice(0, 100)}`, detail: 'is not a known field' }))
  return [{ pointer, detail: message.replace(/^Invalid input: /, '') }]
}

function answer(refusal: Refusal, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const { status, title } = REFUSALS[refusal.code]
  if (status === 503) reply.header('retry-after', '1')
  return reply
    .code(status)
    .header('content-type', 'application/problem+json')
    .serializer(JSON.stringify)
    .send({
      type: `${DOCUMENTATION}#${refusal.code}`,
      title,
      status,
      detail: refusal.message,
      code: refusal.code,
      instance: request.url.split('?')[0],
      requestId: request.id,
      ...(refusal.problems.length > 0 ? { errors: refusal.problems } : {}),
      ...refusal.extra,
    })
}
