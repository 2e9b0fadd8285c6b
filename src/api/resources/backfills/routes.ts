/** Backfills: runs of past occurrences. */

import { z } from 'zod'
import { MAX_INTEGER } from '../../../core/values/integer.ts'
import {
  backfillTask,
  cancelBackfill,
  getBackfill,
  previewBackfill,
} from '../../../operations/backfills/backfill-task.ts'
import { getTask } from '../../../operations/tasks/read-tasks.ts'
import { NoBody, Uuid } from '../../../operations/validation/values.ts'
import { findBackfills } from '../../../store/backfills/backfills.ts'
import type { App } from '../../app.ts'
import { decodeCursor, pageOf } from '../../http/cursor.ts'
import { callerOf, headers, idempotencyOf } from '../../http/request.ts'
import { problems } from '../../http/schemas/problem-document.ts'
import { presentBackfill } from './present.ts'
import { Backfill, BackfillPage, BackfillPreview, BackfillTask, ListBackfills } from './schemas.ts'

const tags = ['backfills']
const byId = z.object({ id: Uuid })

const begin = {
  operationId: 'backfillTask',
  tags,
  summary: 'Run a task for past occurrences',
  description:
    'Creates a run of kind `backfill` for each occurrence of the range that has not completed. These runs have a lower priority than scheduled runs. ' +
    'With `dryRun` nothing is stored, and the response describes what would run.',
  params: byId,
  headers: headers.repeatable,
  body: BackfillTask,
  response: { 200: BackfillPreview, 201: Backfill, ...problems(404, 409, 412, 413, 415) },
}

const listOfTask = {
  operationId: 'listBackfillsOfTask',
  tags,
  summary: 'List the backfills of a task, latest first',
  params: byId,
  querystring: ListBackfills,
  response: { 200: BackfillPage, ...problems(404) },
}

const read = {
  operationId: 'getBackfill',
  tags,
  summary: 'Read a backfill and its progress',
  params: byId,
  response: { 200: Backfill, ...problems(404) },
}

const cancel = {
  operationId: 'cancelBackfill',
  tags,
  summary: 'Cancel a backfill and its runs',
  params: byId,
  body: NoBody,
  response: { 200: Backfill, ...problems(404, 409, 413, 415) },
}

export function backfillRoutes(app: App): void {
  app.post(
    '/v1/tasks/:id/backfill',
    { schema: begin, config: { access: 'operate', isOfQueue: true } },
    async (request, reply) => {
      const { id: taskId } = request.params
      const input = request.body
      if (input.dryRun) return reply.code(200).send(await previewBackfill(request.context, { taskId, input }))
      const { status, body, isReplay } = await backfillTask(request.context, {
        taskId,
        input,
        by: callerOf(request),
        repeat: idempotencyOf(request),
        present: presentBackfill,
      })
      const backfill = body as Backfill
      reply.header('location', `/v1/backfills/${backfill.id}`)
      if (isReplay) reply.header('idempotent-replayed', 'true')
      return reply.code(status as 201).send(backfill)
    },
  )

  app.get(
    '/v1/tasks/:id/backfills',
    { schema: listOfTask, config: { access: 'read' } },
    async ({ params, query, context }) => {
      const { db, projectId } = context
      const { limit } = query
      const [beforeNumber = null] = decodeCursor(query.cursor, isPosition) ?? []
      const { id: taskId } = await getTask(context, params.id)
      const rows = await db.run(findBackfills({ projectId, taskId, beforeNumber, limit: limit + 1 }))
      return pageOf(rows, { limit, present: presentBackfill, position: ({ number }) => [number] })
    },
  )

  app.get('/v1/backfills/:id', { schema: read, config: { access: 'read' } }, async ({ params, context }) =>
    presentBackfill(await getBackfill(context, params.id)),
  )

  app.post(
    '/v1/backfills/:id/cancel',
    { schema: cancel, config: { access: 'operate', isOfQueue: true } },
    async ({ params, context }) => presentBackfill(await cancelBackfill(context, params.id)),
  )
}

type Position = readonly [number: number]

const isPosition = (value: unknown): value is Position =>
  Array.isArray(value) &&
  value.length === 1 &&
  Number.isInteger(value[0]) &&
  value[0] > 0 &&
  value[0] <= MAX_INTEGER
