/** What requests carry besides their body. */
import type { FastifyRequest } from 'fastify'
import { z } from 'zod'
import { Refusal } from '../core/errors.ts'
import { type Repeatable, repeatable } from './operations/idempotency.ts'

const IdempotencyKey = z
  .string()
  .regex(/^[\x21-\x7e]{1,255}$/, 'must be 1 to 255 visible ASCII characters')
  .optional()

export const headers = {
  repeatable: z.looseObject({
    'idempotency-key': IdempotencyKey.describe(
      'The same key with the same request is answered once and for all.',
    ),
  }),
  conditional: z.looseObject({
    'if-match': z.string().optional().describe('The ETag that the change was made from.'),
  }),
}

export function idempotencyOf(request: FastifyRequest): Repeatable | null {
  const key = request.headers['idempotency-key']
  return typeof key === 'string' ? repeatable(key, request) : null
}

const TRACEPARENT = /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/

/** The caller's trace context, when it is a valid one; runs of the task continue it. */
export function traceparentOf(request: FastifyRequest): string | null {
  const value = request.headers['traceparent']
  return typeof value === 'string' && TRACEPARENT.test(value) ? value : null
}

/** The version that If-Match names; null when the change is unconditional. */
export function expectedVersion(request: FastifyRequest): number | null {
  const value = request.headers['if-match']
  if (value === undefined || value === '*') return null
  const match = /^"(\d{1,9})"$/.exec(value)
  if (!match)
    throw new Refusal(
      'version_mismatch',
      'If-Match must be the ETag of the task as it was read, such as "3".',
    )
  return Number(match[1])
}
