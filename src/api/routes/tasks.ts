import type { FastifyReply } from 'fastify'
import { z } from 'zod'
import { Refusal } from '../../core/errors.ts'
import { isUuid } from '../../core/ids.ts'
import { findTasks, type TaskRow } from '../../store/tasks.ts'
import type { App } from '../app.ts'
import { decodeCursor, encodeCursor } from '../cursor.ts'
import { editTask, endTask, pauseTask, resumeTask } from '../operations/change-task.ts'
import type { Context } from '../operations/context.ts'
import { createTasks } from '../operations/create-tasks.ts'
import { getTask, getTaskByKey } from '../operations/read-tasks.ts'
import { upsertTask } from '../operations/upsert-task.ts'
import { presentTask } from '../present.ts'
import { expectedVersion, headers, idempotencyOf, traceparentOf } from '../request.ts'
import { ProblemDocument } from '../schemas/problem-document.ts'
import {
  CreateTask,
  CreateTasks,
  EditTask,
  ListTasks,
  Task,
  TaskItems,
  TaskKey,
  TaskPage,
} from '../schemas/task.ts'
import { Uuid } from '../schemas/values.ts'

const tags = ['tasks']
const byId = z.object({ id: Uuid })
const byKey = z.object({ key: TaskKey })
const problem = { '4xx': ProblemDocument, '5xx': ProblemDocument }
const BULK_BODY_LIMIT = 64 * 1024 * 1024

export function taskRoutes(app: App, context: Context): void {
  app.post(
    '/v1/tasks',
    {
      schema: {
        tags,
        summary: 'Create a task',
        headers: headers.repeatable,
        body: CreateTask,
        response: { 201: Task, ...problem },
      },
    },
    async (request, reply) => {
      const { body } = await createTasks(context, {
        inputs: [request.body],
        traceparent: traceparentOf(request),
        repeat: idempotencyOf(request),
        pointer: () => '',
        present: ([row]) => presentTask(row as TaskRow),
      })
      return reply
        .code(201)
        .header('location', `/v1/tasks/${(body as Task).id}`)
        .header('etag', etag((body as Task).version))
        .send(body as Task)
    },
  )

  app.post(
    '/v1/tasks/bulk',
    {
      bodyLimit: BULK_BODY_LIMIT,
      schema: {
        tags,
        summary: 'Create up to 10 000 tasks, all or none',
        headers: headers.repeatable,
        body: CreateTasks,
        response: { 201: TaskItems, ...problem },
      },
    },
    async (request, reply) => {
      const { body } = await createTasks(context, {
        inputs: request.body.tasks,
        traceparent: traceparentOf(request),
        repeat: idempotencyOf(request),
        pointer: (index) => `/tasks/${index}`,
        present: (rows) => ({ items: rows.map(presentTask) }),
      })
      return reply.code(201).send(body as z.output<typeof TaskItems>)
    },
  )

  app.get(
    '/v1/tasks',
    {
      schema: {
        tags,
        summary: 'List tasks, newest first',
        querystring: ListTasks,
        response: { 200: TaskPage, ...problem },
      },
    },
    async (request) => {
      const { q, cursor, limit, ...filters } = request.query
      const before = decodeCursor(cursor, isTaskPosition)?.[0]
      const rows = await context.db.run(
        findTasks({ ...filters, projectId: context.projectId, text: q, before, limit: limit + 1 }),
      )
      return { items: rows.slice(0, limit).map(presentTask), nextCursor: nextCursor(rows, limit) }
    },
  )

  app.get(
    '/v1/tasks/:id',
    { schema: { tags, summary: 'Read a task', params: byId, response: { 200: Task, ...problem } } },
    async (request, reply) => answer(reply, await getTask(context, request.params.id)),
  )

  app.get(
    '/v1/tasks/by-key/:key',
    {
      schema: { tags, summary: 'Read a task by its key', params: byKey, response: { 200: Task, ...problem } },
    },
    async (request, reply) => answer(reply, await getTaskByKey(context, request.params.key)),
  )

  app.patch(
    '/v1/tasks/:id',
    {
      schema: {
        tags,
        summary: 'Change some fields',
        params: byId,
        headers: headers.conditional,
        body: EditTask,
        response: { 200: Task, ...problem },
      },
    },
    async (request, reply) => {
      await editTask(context, request.params.id, request.body, expectedVersion(request))
      return answer(reply, await getTask(context, request.params.id))
    },
  )

  app.put(
    '/v1/tasks/by-key/:key',
    {
      schema: {
        tags,
        summary: 'Create or replace the task with this key',
        params: byKey,
        headers: headers.conditional,
        body: CreateTask,
        response: { 200: Task, 201: Task, ...problem },
      },
    },
    async (request, reply) => {
      const { key } = request.params
      if (request.body.key !== undefined && request.body.key !== key) {
        const detail = `is '${request.body.key}', but the address names '${key}'`
        throw new Refusal('invalid_input', `/key ${detail}.`, { problems: [{ pointer: '/key', detail }] })
      }
      const { row, isNew } = await upsertTask(context, {
        key,
        input: request.body,
        traceparent: traceparentOf(request),
        version: expectedVersion(request),
      })
      return reply
        .code(isNew ? 201 : 200)
        .header('etag', etag(row.version))
        .send(presentTask(row))
    },
  )

  app.delete(
    '/v1/tasks/:id',
    {
      schema: {
        tags,
        summary: 'End a task and hide it; its history stays',
        params: byId,
        response: { 204: z.null(), ...problem },
      },
    },
    async (request, reply) => {
      await endTask(context, request.params.id, 'delete')
      return reply.code(204).send(null)
    },
  )

  const change = (
    verb: 'pause' | 'resume' | 'cancel',
    summary: string,
    work: (id: string) => Promise<void>,
  ) =>
    app.post(
      `/v1/tasks/:id/${verb}`,
      { schema: { tags, summary, params: byId, response: { 200: Task, ...problem } } },
      async (request, reply) => {
        const { id } = request.params as { id: string }
        await work(id)
        return answer(reply, await getTask(context, id))
      },
    )
  change('pause', 'Stop firing until resumed', (id) => pauseTask(context, id))
  change('resume', 'Go on with the next occurrence', (id) => resumeTask(context, id))
  change('cancel', 'End a task; a running run is stopped', (id) => endTask(context, id, 'cancel'))
}

const etag = (version: number) => `"${version}"`

function answer(reply: Pick<FastifyReply, 'header'>, row: TaskRow): Task {
  reply.header('etag', etag(row.version))
  return presentTask(row)
}

const isTaskPosition = (value: unknown): value is readonly [string] =>
  Array.isArray(value) && typeof value[0] === 'string' && isUuid(value[0])

function nextCursor(rows: readonly TaskRow[], limit: number): string | null {
  const last = rows[limit - 1]
  return rows.length > limit && last ? encodeCursor([last.id]) : null
}
