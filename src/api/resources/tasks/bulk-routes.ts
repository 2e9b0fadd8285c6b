/** Creates many tasks in one request. */
import { Readable } from 'node:stream'
import { createManyTasks } from '../../../operations/tasks/create-many.ts'
import type { App } from '../../app.ts'
import { BODY_LIMIT, parseListBodies } from '../../http/body-parsing.ts'
import { headers, idempotencyKeyOf, traceparentOf } from '../../http/request.ts'
import { problems } from '../../http/schemas/problem-document.ts'
import { ofTheList } from '../../http/validation/compiler.ts'
import { CreateTask, CreateTasks, MAX_BULK, TaskItems } from './schemas.ts'
import { writeTask } from './write-task.ts'

/** Large enough for the maximum number of tasks per request, if they are of ordinary size. */
const BULK_BODY_LIMIT = 32 * 1024 * 1024

const createMany = {
  operationId: 'createTasks',
  tags: ['tasks'],
  summary: `Create up to ${MAX_BULK} tasks, all or nothing`,
  headers: headers.repeatable,
  body: CreateTasks,
  response: { 201: TaskItems, ...problems(409, 413, 415) },
}

/** In its own scope, because the bodies are lists, which are parsed item by item. */
export function bulkRoutes(app: App): void {
  parseListBodies(app, { member: 'tasks', maxItems: MAX_BULK, maxItemBytes: BODY_LIMIT })
  const route = {
    schema: createMany,
    config: { access: 'edit', isOfQueue: true } as const,
    bodyLimit: BULK_BODY_LIMIT,
    validatorCompiler: ofTheList('tasks', MAX_BULK),
  }
  app.post('/v1/tasks/bulk', route, async (request, reply) => {
    const { status, body, isReplay } = await createManyTasks(request.context, {
      items: request.body.tasks as never,
      schema: CreateTask,
      traceparent: traceparentOf(request),
      idempotencyKey: idempotencyKeyOf(request),
      address: request,
      write: writeTask,
    })
    if (isReplay) reply.header('idempotent-replayed', 'true')
    reply.code(status as 201).type('application/json; charset=utf-8')
    return reply.send(
      (typeof body === 'string' ? body : Readable.from(body as AsyncIterable<string>)) as never,
    )
  })
}
