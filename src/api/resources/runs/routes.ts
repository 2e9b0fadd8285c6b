/** Runs of all tasks, and single runs by id. */

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
import { sendCreated } from './created.ts'
import { presentAttempt, presentRun } from './present.ts'
import { ListRuns, Run, RunPage, RunWithAttempts as RunWithAttemptsSchema } from './schemas.ts'

const tags = ['runs']
const byId = z.object({ id: Uuid })

const list = {
  operationId: 'listRuns',
  tags,
  summary: 'List runs of all tasks, latest first',
  description:
    'Runs are ordered by their last event: the end of the run; for a retrying run, the end of its last attempt; for a ' +
    'pending or running run, its due time. With `taskId`, runs are ordered by their due time. ' +
    'A search over many runs stops early: a page may contain fewer runs than requested, or none; continue as long as ' +
    '`nextCursor` is not null.',
  querystring: ListRuns,
  response: { 200: RunPage, ...problems(404) },
}

const read = {
  operationId: 'getRun',
  tags,
  summary: 'Read a run and its attempts',
  params: byId,
  response: { 200: RunWithAttemptsSchema, ...problems(404) },
}

const retry = {
  operationId: 'retryRun',
  tags,
  summary: 'Rerun a run that has ended',
  description:
    'Creates a new run of the task, due now, with this run as its `retryOf`. It uses the current definition of the task and the ' +
    'override of this run, if any, and does not count towards `maxRuns`.',
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
  app.get('/v1/runs', { schema: list, config: { access: 'read' } }, async ({ query, context }) => {
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

  app.get('/v1/runs/:id', { schema: read, config: { access: 'read' } }, async ({ params, context }) =>
    present(await getRun(context, params.id)),
  )

  app.post(
    '/v1/runs/:id/retry',
    { schema: retry, config: { access: 'operate', isOfQueue: true } },
    async (request, reply) => {
      const answer = await retryRun(request.context, {
        id: request.params.id,
        repeat: idempotencyOf(request),
        present: presentRun,
      })
      return sendCreated(reply, answer)
    },
  )

  app.post(
    '/v1/runs/:id/cancel',
    { schema: cancel, config: { access: 'operate', isOfQueue: true } },
    async ({ params, context }) => present(await cancelRun(context, params.id)),
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
