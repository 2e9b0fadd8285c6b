import { z } from 'zod'
import type { App } from '../app.ts'
import { retryAfter } from '../errors.ts'
import type { Context } from '../operations/context.ts'
import { problems } from '../schemas/problem-document.ts'

const tags = ['health']
const { 503: _, ...usual } = problems()

const health = {
  operationId: 'getHealth',
  tags,
  summary: 'The process is alive',
  response: { 200: z.object({ status: z.literal('ok') }), ...usual },
}

const Readiness = z
  .object({
    status: z.enum(['ready', 'not_ready']),
    code: z.string().nullable().describe('Why not: the code that requests are refused with meanwhile.'),
    reasons: z.array(z.string()).describe('Why not, and what to do about it.'),
  })
  .meta({ id: 'Readiness' })

const readiness = {
  operationId: 'getReadiness',
  tags,
  summary: 'The server can do its work',
  description:
    'Writes to the database and rolls back, at most once a second, to learn whether it can be written to.',
  response: { 200: Readiness, ...usual, 503: Readiness },
}

/** /healthz is about this process alone; /readyz about whether it can do its work, which takes a database that can be written to. */
export function healthRoutes(app: App, { writeCheck }: Context): void {
  app.get('/healthz', { schema: health }, async () => ({ status: 'ok' as const }))

  app.get('/readyz', { schema: readiness }, async (_, reply) => {
    const trouble = await writeCheck.trouble()
    if (trouble === null) return { status: 'ready' as const, code: null, reasons: [] }
    return reply
      .code(503)
      .header('retry-after', retryAfter(trouble.code))
      .send({ status: 'not_ready' as const, code: trouble.code, reasons: [trouble.detail] })
  })
}
