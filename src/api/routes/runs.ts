import { z } from 'zod'
import { isUuid } from '../../core/ids.ts'
import { attemptsOfTask, runsOfTask } from '../../store/runs.ts'
import type { App } from '../app.ts'
import { decodeCursor, encodeCursor } from '../cursor.ts'
import type { Context } from '../operations/context.ts'
import { getTask } from '../operations/read-tasks.ts'
import { cancelRun, getRun, type RunWithAttempts, triggerTask } from '../operations/runs.ts'
import { presentAttempt, presentRun } from '../present.ts'
import { headers, idempotencyOf } from '../request.ts'
import { ProblemDocument } from '../schemas/problem-document.ts'
import {
  AttemptPage,
  ListAttempts,
  ListRuns,
  Run,
  RunPage,
  RunWithAttempts as RunWithAttemptsSchema,
} from '../schemas/run.ts'
import { Uuid } from '../schemas/values.ts'

const tags = ['runs']
const byId = z.object({ id: Uuid })
const problem = { '4xx': ProblemDocument, '5xx': ProblemDocument }

export function runRoutes(app: App, context: Context): void {
  app.post(
    '/v1/tasks/:id/trigger',
    {
      schema: {
        tags,
        summary: 'Run a task now',
        params: byId,
        headers: headers.repeatable,
        response: { 201: Run, ...problem },
      },
    },
    async (request, reply) => {
      const { body } = await triggerTask(context, request.params.id, idempotencyOf(request))
      return reply
        .code(201)
        .header('location', `/v1/runs/${(body as Run).id}`)
        .send(body as Run)
    },
  )

  app.get(
    '/v1/tasks/:id/runs',
    {
      schema: {
        tags,
        summary: 'Runs of a task, latest first',
        params: byId,
        querystring: ListRuns,
        response: { 200: RunPage, ...problem },
      },
    },
    async ({ params, query }) => {
      await getTask(context, params.id)
      const { limit, state } = query
      const position = decodeCursor(query.cursor, isRunPosition)
      const before = position && { scheduledFor: position[0], id: position[1] }
      const rows = await context.db.run(
        runsOfTask({ projectId: context.projectId, taskId: params.id, state, before, limit: limit + 1 }),
      )
      const last = rows.length > limit ? rows[limit - 1] : undefined
      return {
        items: rows.slice(0, limit).map(presentRun),
        nextCursor: last ? encodeCursor([last.scheduledFor, last.id]) : null,
      }
    },
  )

  app.get(
    '/v1/tasks/:id/attempts',
    {
      schema: {
        tags,
        summary: 'Attempts of a task, latest first',
        params: byId,
        querystring: ListAttempts,
        response: { 200: AttemptPage, ...problem },
      },
    },
    async ({ params, query }) => {
      await getTask(context, params.id)
      const { limit } = query
      const position = decodeCursor(query.cursor, isAttemptPosition)
      const before = position && { endedAt: position[0], runId: position[1], number: position[2] }
      const rows = await context.db.run(
        attemptsOfTask({ projectId: context.projectId, taskId: params.id, before, limit: limit + 1 }),
      )
      const last = rows.length > limit ? rows[limit - 1] : undefined
      return {
        items: rows.slice(0, limit).map(presentAttempt),
        nextCursor: last ? encodeCursor([last.endedAt, last.runId, last.number]) : null,
      }
    },
  )

  app.get(
    '/v1/runs/:id',
    {
      schema: {
        tags,
        summary: 'Read a run with its attempts',
        params: byId,
        response: { 200: RunWithAttemptsSchema, ...problem },
      },
    },
    async ({ params }) => present(await getRun(context, params.id)),
  )

  app.post(
    '/v1/runs/:id/cancel',
    {
      schema: {
        tags,
        summary: 'Cancel a run',
        params: byId,
        response: { 200: RunWithAttemptsSchema, ...problem },
      },
    },
    async ({ params }) => present(await cancelRun(context, params.id)),
  )
}

const present = ({ run, attempts }: RunWithAttempts) => ({
  ...presentRun(run),
  attempts: attempts.map(presentAttempt),
})

const isRunPosition = (value: unknown): value is readonly [number, string] =>
  Array.isArray(value) && typeof value[0] === 'number' && typeof value[1] === 'string' && isUuid(value[1])

const isAttemptPosition = (value: unknown): value is readonly [number, string, number] =>
  isRunPosition(value) && Number.isInteger((value as readonly unknown[])[2])
