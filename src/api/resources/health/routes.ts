import { z } from 'zod'
import type { App } from '../../app.ts'
import type { Readiness } from '../../http/readiness.ts'
import { problems } from '../../http/schemas/problem-document.ts'

const tags = ['health']
const { 401: _, 503: __, ...usual } = problems()

const health = {
  operationId: 'getHealth',
  tags,
  summary: 'Check that the process is alive',
  response: { 200: z.object({ status: z.literal('ok') }), ...usual },
}

const ReadinessAnswer = z
  .object({
    status: z.enum(['ready', 'not_ready']),
    code: z
      .string()
      .nullable()
      .describe('Why the server is not ready: starting, stopping, or the error code that requests receive.'),
    reasons: z.array(z.string()).describe('Why the server is not ready and what to do about it.'),
  })
  .meta({ id: 'Readiness' })

const readiness = {
  operationId: 'getReadiness',
  tags,
  summary: 'Check that the server is ready',
  description:
    'Checks that the database is writable, at most once per second, with a write that is rolled back. Returns 503 while the node starts, and from the beginning of its shutdown, before its port closes.',
  response: { 200: ReadinessAnswer, ...usual, 503: ReadinessAnswer },
}

/**
 * /healthz reports on this process alone; /readyz reports whether it can do its work, which needs a database that accepts
 * writes.
 */
export function healthRoutes(app: App, node: Readiness): void {
  app.get('/healthz', { schema: health, config: { access: 'public' } }, async () => ({
    status: 'ok' as const,
  }))

  app.get('/readyz', { schema: readiness, config: { access: 'public' } }, async (_, reply) => {
    const { status, headers, body } = await node.answer()
    return reply.code(status).headers(headers).send(body)
  })
}
