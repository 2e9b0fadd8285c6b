/** Runs over all tasks, and one run by its own id. */

import { z } from 'zod'
import { maskedAction, maskedOverride } from '../../../core/action/masked-action.ts'
import { isUuid } from '../../../core/ids.ts'
import { instantMs } from '../../../core/task/task.ts'
import { utc } from '../../../core/values/utc.ts'
import { LONGEST_WINDOW_MS, listRuns } from '../../../operations/runs/list-runs.ts'
import { cancelRun, getRun, type RunWithAttempts, retryRun } from '../../../operations/runs/runs.ts'
import { NoBody, Uuid } from '../../../operations/validation/values.ts'
import type { App } from '../../app.ts'
import { decodeCursor, encodeCursor, isInstant } from '../../http/cursor.ts'
import { headers, idempotencyOf } from '../../http/request.ts'
import { problems } from '../../http/schemas/problem-document.ts'
import { runsOfOneTask } from '../tasks/run-routes.ts'
import { presentAttempt, presentRun } from './present.ts'
import { ListRuns, Run, RunPage, RunWithAttempts as RunWithAttemptsSchema } from './schemas.ts'

const tags = ['runs']
const byId = z.object({ id: Uuid })

const list = {
  operationId: 'listRuns',
  tags,
  summary: 'Runs of all tasks, latest first',
  description:
    'A run stands at the last thing that happened to it: its end; while it is retrying, the end of its last attempt; while it is ' +
    'pending or running, when it was due. With `taskId` it stands at the instant it was due. ' +
    'A search that has to look far is broken off: a page may hold fewer runs than asked for, or none, and there is more as long as ' +
    '`nextCursor` is not null.',
  querystring: ListRuns,
  response: { 200: RunPage, ...problems(404) },
}

const read = {
  operationId: 'getRun',
  tags,
  summary: 'Read a run with its attempts',
  params: byId,
  response: { 200: RunWithAttemptsSchema, ...problems(404) },
}

const retry = {
  operationId: 'retryRun',
  tags,
  summary: 'Run a run that has ended once more',
  description:
    'Makes a new run of its task, due now, that names this one as `retryOf`. It is performed as the task is defined now, with the ' +
    'override of this one if it had any, and does not count against `maxRuns`.',
  params: byId,
  headers: headers.repeatable,
  body: NoBody,
  response: { 201: Run, ...problems(404, 409, 413, 415) },
}

const cancel = {
  operationId: 'cancelRun',
  tags,
  summary: 'Cancel a run',
  params: byId,
  body: NoBody,
  response: { 200: RunWithAttemptsSchema, ...problems(404, 409, 413, 415) },
}

export function runRoutes(app: App): void {
  app.get('/v1/runs', { schema: list }, async ({ query, context }) => {
    const { taskId, cursor, limit, state } = query
    const from = query.from === undefined ? null : instantMs(query.from)
    const to = query.to === undefined ? null : instantMs(query.to)
    if (taskId !== undefined) return runsOfOneTask(context, { taskId, state, from, to, limit, cursor })
    const [us, id, windowMs] = decodeCursor(cursor, isPosition) ?? []
    const after = us === undefined || id === undefined || windowMs === undefined ? null : { us, id, windowMs }
    const { rows, next } = await listRuns(context, { state: state ?? null, from, to, after, limit })
    return {
      items: rows.map(presentRun),
      nextCursor: next && encodeCursor([next.us, next.id, next.windowMs]),
    }
  })

  app.get('/v1/runs/:id', { schema: read }, async ({ params, context }) =>
    present(await getRun(context, params.id)),
  )

  app.post('/v1/runs/:id/retry', { schema: retry }, async (request, reply) => {
    const { status, body, isReplay } = await retryRun(request.context, {
      id: request.params.id,
      repeat: idempotencyOf(request),
      present: presentRun,
    })
    const run = body as Run
    reply.header('location', `/v1/runs/${run.id}`)
    if (isReplay) reply.header('idempotent-replayed', 'true')
    return reply.code(status as 201).send(run)
  })

  app.post('/v1/runs/:id/cancel', { schema: cancel }, async ({ params, context }) =>
    present(await cancelRun(context, params.id)),
  )
}

const present = ({ run, override, action, backfillId, attempts, retriedAs, progress }: RunWithAttempts) => ({
  ...presentRun(run),
  backfillId,
  override: override && maskedOverride(override),
  action: action && maskedAction(action),
  attempts: attempts.map(presentAttempt),
  retriedAs: [...retriedAs],
  progress: progress && { ...progress, at: utc(progress.at) },
})

type Position = readonly [us: number, runId: string, windowMs: number]

const isPosition = (value: unknown): value is Position => {
  if (!Array.isArray(value) || value.length !== 3) return false
  const [us, id, windowMs] = value
  return (
    Number.isInteger(us) &&
    isInstant(Math.floor(us / 1_000)) &&
    typeof id === 'string' &&
    isUuid(id) &&
    Number.isInteger(windowMs) &&
    windowMs > 0 &&
    windowMs <= LONGEST_WINDOW_MS
  )
}
