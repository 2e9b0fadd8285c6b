import { z } from 'zod'
import { readClock } from '../../store/nodes.ts'
import type { App } from '../app.ts'
import type { Context } from '../operations/context.ts'

const READY_TIMEOUT_MS = 2_000

/** /healthz is about this process alone; /readyz about whether it can do its work. */
export function healthRoutes(app: App, { db }: Context): void {
  app.get(
    '/healthz',
    {
      schema: {
        tags: ['health'],
        summary: 'The process is alive',
        response: { 200: z.object({ status: z.literal('ok') }) },
      },
    },
    async (_, reply) => {
      reply.header('cache-control', 'no-store')
      return { status: 'ok' as const }
    },
  )

  const Readiness = z.object({ status: z.enum(['ready', 'not_ready']), reasons: z.array(z.string()) })
  app.get(
    '/readyz',
    {
      schema: {
        tags: ['health'],
        summary: 'The server can do its work',
        response: { 200: Readiness, 503: Readiness },
      },
    },
    async (_, reply) => {
      reply.header('cache-control', 'no-store')
      const problem = await Promise.race([
        db.run(readClock()).then(
          () => null,
          () => 'the database does not answer',
        ),
        new Promise<string>((resolve) =>
          setTimeout(
            resolve,
            READY_TIMEOUT_MS,
            `the database did not answer within ${READY_TIMEOUT_MS} ms`,
          ).unref(),
        ),
      ])
      if (problem === null) return { status: 'ready' as const, reasons: [] }
      return reply
        .code(503)
        .header('retry-after', '1')
        .send({ status: 'not_ready' as const, reasons: [problem] })
    },
  )
}
