/** Creates tasks: a new one, or the one with a key. */

import { z } from 'zod'
import { invalidInput } from '../../../core/errors.ts'
import { createTask } from '../../../operations/tasks/create-task.ts'
import { upsertTask } from '../../../operations/tasks/upsert-task.ts'
import type { App } from '../../app.ts'
import { callerOf, etag, expectedVersion, headers, idempotencyOf, traceparentOf } from '../../http/request.ts'
import { problems } from '../../http/schemas/problem-document.ts'
import { presentTask } from './present.ts'
import { CreateTask, Task, TaskKey } from './schemas.ts'

const tags = ['tasks']

const create = {
  operationId: 'createTask',
  tags,
  summary: 'Create a task',
  headers: headers.repeatable,
  body: CreateTask,
  response: { 201: Task, ...problems(409, 413, 415) },
}

const upsert = {
  operationId: 'putTaskByKey',
  tags,
  summary: 'Create or replace the task with this key',
  params: z.object({ key: TaskKey }),
  headers: headers.conditional,
  body: CreateTask,
  response: { 200: Task, 201: Task, ...problems(409, 412, 413, 415) },
}

export function createTaskRoutes(app: App): void {
  app.post(
    '/v1/tasks',
    { schema: create, config: { access: 'edit', isOfQueue: true } },
    async (request, reply) => {
      const { status, body, isReplay } = await createTask(request.context, {
        input: request.body,
        traceparent: traceparentOf(request),
        repeat: idempotencyOf(request),
        present: presentTask,
      })
      const task = body as Task
      reply.header('location', `/v1/tasks/${task.id}`).header('etag', etag(task.version))
      if (isReplay) reply.header('idempotent-replayed', 'true')
      return reply.code(status as 201).send(task)
    },
  )

  app.put(
    '/v1/tasks/by-key/:key',
    { schema: upsert, config: { access: 'edit', isOfQueue: true } },
    async (request, reply) => {
      const { key } = request.params
      if (request.body.key !== undefined && request.body.key !== key) {
        const detail = `is ${JSON.stringify(request.body.key)}, but the path names ${JSON.stringify(key)}`
        throw invalidInput([{ pointer: '/key', detail }])
      }
      const { row, isNew } = await upsertTask(request.context, {
        key,
        input: request.body,
        traceparent: traceparentOf(request),
        expected: expectedVersion(request),
        by: callerOf(request),
      })
      reply.header('location', `/v1/tasks/${row.id}`).header('etag', etag(row.version))
      return reply.code(isNew ? 201 : 200).send(presentTask(row))
    },
  )
}
