/** Making tasks: one, many, or the one that a key names. */
import { z } from 'zod'
import type { App } from '../app.ts'
import type { Context } from '../operations/context.ts'
import { createManyTasks } from '../operations/create-many.ts'
import { createTask } from '../operations/create-task.ts'
import { upsertTask } from '../operations/upsert-task.ts'
import { presentTask } from '../present.ts'
import { callerOf, etag, expectedVersion, headers, idempotencyOf, traceparentOf } from '../request.ts'
import { problems } from '../schemas/problem-document.ts'
import { CreateTask, CreateTasks, MAX_BULK, Task, TaskItems, TaskKey } from '../schemas/task.ts'
import { invalidInput, validatorCompiler } from '../validation/parse.ts'

/** Room for as many tasks as one call may hold, of ordinary size. */
const BULK_BODY_LIMIT = 64 * 1024 * 1024

const tags = ['tasks']

const create = {
  operationId: 'createTask',
  tags,
  summary: 'Create a task',
  headers: headers.repeatable,
  body: CreateTask,
  response: { 201: Task, ...problems(409, 413, 415) },
}

const createMany = {
  operationId: 'createTasks',
  tags,
  summary: `Create up to ${MAX_BULK} tasks, all or none`,
  headers: headers.repeatable,
  body: CreateTasks,
  response: { 201: TaskItems, ...problems(409, 413, 415) },
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

/** Only the list itself is checked before the work begins: its items have their turns later. */
const ofTheList: typeof validatorCompiler = (part) =>
  validatorCompiler(part.httpPart === 'body' ? { ...part, schema: ListOfTasks } : part)

const ListOfTasks = z.strictObject({ tasks: z.array(z.unknown()).min(1).max(MAX_BULK) })

export function createTaskRoutes(app: App, context: Context): void {
  app.post('/v1/tasks', { schema: create }, async (request, reply) => {
    const { status, body, isReplay } = await createTask(context, {
      input: request.body,
      traceparent: traceparentOf(request),
      repeat: idempotencyOf(request),
      present: presentTask,
    })
    const task = body as Task
    reply.header('location', `/v1/tasks/${task.id}`).header('etag', etag(task.version))
    if (isReplay) reply.header('idempotent-replayed', 'true')
    return reply.code(status as 201).send(task)
  })

  // Fastify types a route's own compiler by the whole of its schemas, but calls it for each part.
  const bulk = { schema: createMany, bodyLimit: BULK_BODY_LIMIT, validatorCompiler: ofTheList as never }
  app.post('/v1/tasks/bulk', bulk, async (request, reply) => {
    const { status, body, isReplay } = await createManyTasks(context, {
      items: request.body.tasks,
      traceparent: traceparentOf(request),
      repeat: idempotencyOf(request),
    })
    if (isReplay) reply.header('idempotent-replayed', 'true')
    reply.code(status as 201).type('application/json; charset=utf-8')
    return reply.send((typeof body === 'string' ? body : JSON.stringify(body)) as never)
  })

  app.put('/v1/tasks/by-key/:key', { schema: upsert }, async (request, reply) => {
    const { key } = request.params
    if (request.body.key !== undefined && request.body.key !== key) {
      const detail = `is ${JSON.stringify(request.body.key)}, but the address names ${JSON.stringify(key)}`
      throw invalidInput([{ pointer: '/key', detail }])
    }
    const { row, isNew } = await upsertTask(context, {
      key,
      input: request.body,
      traceparent: traceparentOf(request),
      expected: expectedVersion(request),
      by: callerOf(request),
    })
    reply.header('location', `/v1/tasks/${row.id}`).header('etag', etag(row.version))
    return reply.code(isNew ? 201 : 200).send(presentTask(row))
  })
}
