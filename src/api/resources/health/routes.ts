import { z } from 'zod'
import type { App } from '../../app.ts'
import type { Readiness } from '../../http/readiness.ts'
import { problems } from '../../http/schemas/problem-document.ts'

const tags = ['health']
const { 503: _, ...usual } = problems()

const health = {
  operationId: 'getHealth',
  tags,
  summary: 'The process is alive',
  response: { 200: z.object({ status: z.literal('ok') }), ...usual },
}

const ReadinessAnswer = z
  .object({
    status: z.enum(['ready', 'not_ready']),
    code: z
      .string()
      .nullable()
      .describe('Why not: starting, stopping, or the code that requests are refused with meanwhile.'),
    reasons: z.array(z.string()).describe('Why not, and what to do about it.'),
  })
  .meta({ id: 'Readiness' })

const readiness = {
  operationId: 'getReadiness',
  tags,
  summary: 'The server can do its work',
  description:
    'Writes to the database and rolls back, at most once a second, to learn whether it can be written to. Answers 503 while the node starts and from the moment it is asked to stop, before its port closes.',
  response: { 200: ReadinessAnswer, ...usual, 503: ReadinessAnswer },
}

/** /healthz is about this process alone; /readyz about whether it can do its work, which takes a database that can be written to. */
export function healthRoutes(app: App, node: Readiness): void {
  app.get('/healthz', { schema: health }, async () => ({ status: 'ok' as const }))

  app.get('/readyz', { schema: readiness }, async (_, reply) => {
    const { status, headers, body } = await node.answer()
    return reply.code(status).headers(headers).send(body)
  })
}
