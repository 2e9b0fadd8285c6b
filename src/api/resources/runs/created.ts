/** Responds to a request that created a run, or that repeats one that did. */
import type { FastifyReply } from 'fastify'
import type { Answer } from '../../../operations/idempotency.ts'
import type { Run } from './schemas.ts'

export function sendCreated(reply: FastifyReply, { status, body, isReplay }: Answer): FastifyReply {
  const run = body as Run
  reply.header('location', `/v1/runs/${run.id}`)
  if (isReplay) reply.header('idempotent-replayed', 'true')
  return reply.code(status).send(run)
}
