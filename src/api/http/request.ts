/** Request headers: their schemas and values. */
import type { FastifyRequest } from 'fastify'
import { z } from 'zod'
import { Refusal } from '../../core/errors.ts'
import { type Actor, nameOf } from '../../operations/context.ts'
import { type Repeatable, repeatable } from '../../operations/idempotency.ts'
import type { ExpectedVersion } from '../../operations/tasks/expected-version.ts'

const IdempotencyKey = z
  .string()
  .regex(/^[\x21-\x7e]{1,255}$/, 'must be 1 to 255 visible ASCII characters')
  .optional()
  .describe('Makes the request safe to retry: a repetition with the same key returns the first response.')

export const headers = {
  repeatable: z.looseObject({ 'idempotency-key': IdempotencyKey }),
  conditional: z.looseObject({
    'if-match': z.string().optional().describe('ETag of the version that the change is based on.'),
  }),
}

export function idempotencyOf(request: FastifyRequest): Repeatable | null {
  const key = idempotencyKeyOf(request)
  return key === null ? null : repeatable(key, request)
}

export function idempotencyKeyOf(request: FastifyRequest): string | null {
  const key = request.headers['idempotency-key']
  return typeof key === 'string' ? key : null
}

const TRACEPARENT = /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/

/** Returns the caller's trace context if it is valid; runs of the task continue it. */
export function traceparentOf(request: FastifyRequest): string | null {
  const value = request.headers['traceparent']
  return typeof value === 'string' && TRACEPARENT.test(value) ? value : null
}

const BEARER = /^Bearer +(\S+)$/i

/** Returns the token in `Authorization: Bearer`; null if there is none. */
export const bearerOf = ({ headers }: FastifyRequest): string | null =>
  BEARER.exec(headers.authorization ?? '')?.[1] ?? null

export const EVENT_STREAM = 'text/event-stream'

/** Returns whether the client asks for server-sent events. */
export const wantsEvents = ({ headers: { accept } }: FastifyRequest): boolean =>
  accept?.includes(EVENT_STREAM) === true

/** Headers that proxies add to forwarded requests. */
const FORWARDED = [
  'forwarded',
  'via',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-proto',
  'x-real-ip',
] as const

/** Returns whether a proxy has forwarded the request. The sender cannot remove the headers that show it. */
export const isForwarded = ({ headers }: FastifyRequest): boolean =>
  FORWARDED.some((name) => headers[name] !== undefined)

/** The sender of a request without a credential that identifies them. */
export const anonymous = ({ ip }: FastifyRequest): Actor => ({ kind: 'anonymous', address: ip ?? null })

/** Returns the name of the caller, for people. */
export const callerOf = ({ context }: FastifyRequest): string | null => nameOf(context.actor)

export const etag = (version: number): string => `"${version}"`

export function expectedVersion(request: FastifyRequest): ExpectedVersion {
  const value = request.headers['if-match']
  if (value === undefined) return null
  if (value === '*') return 'any'
  const match = /^"(\d{1,9})"$/.exec(value)
  if (match) return Number(match[1])
  const detail = 'must be the ETag of the task, such as "3"'
  throw new Refusal('version_mismatch', `if-match ${detail}.`, {
    problems: [{ pointer: 'if-match', detail }],
  })
}
