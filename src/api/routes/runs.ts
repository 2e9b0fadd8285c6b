/** One run, by its own id. */
import { z } from 'zod'
import type { App } from '../app.ts'
import type { Context } from '../operations/context.ts'
import { cancelRun, getRun, type RunWithAttempts } from '../operations/runs.ts'
import { presentAttempt, presentRun } from '../present.ts'
import { problems } from '../schemas/problem-document.ts'
import { RunWithAttempts as RunWithAttemptsSchema } from '../schemas/run.ts'
import { NoBody, Uuid } from '../schemas/values.ts'

const tags = ['runs']
const byId = z.object({ id: Uuid })

const read = {
  operationId: 'getRun',
  tags,
  summary: 'Read a run with its attempts',
  params: byId,
  response: { 200: RunWithAttemptsSchema, ...problems(404) },
}

const cancel = {
  operationId: 'cancelRun',
  tags,
  summary: 'Cancel a run',
  params: byId,
  body: NoBody,
  response: { 200: RunWithAttemptsSchema, ...problems(404, 409, 413, 415) },
}

export function runRoutes(app: App, context: Context): void {
  app.get('/v1/runs/:id', { schema: read }, async ({ params }) => present(await getRun(context, params.id)))

  app.post('/v1/runs/:id/cancel', { schema: cancel }, async ({ params }) =>
    present(await cancelRun(context, params.id)),
  )
}

const present = ({ run, attempts }: RunWithAttempts) => ({
  ...presentRun(run),
  attempts: attempts.map(presentAttempt),
})
