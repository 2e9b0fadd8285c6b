import { z } from 'zod'
import { readClock } from '../../store/nodes.ts'
import type { App } from '../app.ts'
import type { Context } from '../operations/context.ts'
import { problems } from '../schemas/problem-document.ts'

const READY_TIMEOUT_MS = 2_000

const tags = ['health']
const { 503: _, ...usual } = problems()

const health = {
  operationId: 'getHealth',
  tags,
  summary: 'The process is alive',
  response: { 200: z.object({ status: z.literal('ok') }), ...usual },
}

const Readiness = z
  .object({ status: z.enum(['ready', 'not_ready']), reasons: z.array(z.string()) })
  .meta({ id: 'Readiness' })

const readiness = {
  operationId: 'getReadiness',
  tags,
  summary: 'The server can do its work',
  response: { 200: Readiness, ...usual, 503: Readiness },
}

/** /healthz is about this process alone; /readyz about whether it can do its work. */
export function healthRoutes(app: App, { db }: Context): void {
  app.get('/healthz', { schema: health }, async () => ({ status: 'ok' as const }))

  app.get('/readyz', { schema: readiness }, async (_, reply) => {
    const answered = db.run(readClock()).then(
      () => null,
      () => 'the database does not answer',
    )
    const problem = await Promise.race([answered, tooLate()])
    if (problem === null) return { status: 'ready' as const, reasons: [] }
    return reply
      .code(503)
      .header('retry-after', '1')
      .send({ status: 'not_ready' as const, reasons: [problem] })
  })
}

function tooLate(): Promise<string> {
  const reason = `the database did not answer within ${READY_TIMEOUT_MS} ms`
  return new Promise((resolve) => setTimeout(resolve, READY_TIMEOUT_MS, reason).unref())
}
