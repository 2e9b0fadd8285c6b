/** Reading tasks: one by its id or key, or many in pages. */
import { z } from 'zod'
import { isUuid } from '../../core/ids.ts'
import { findTasks } from '../../store/tasks.ts'
import type { App } from '../app.ts'
import { decodeCursor, pageOf } from '../cursor.ts'
import type { Context } from '../operations/context.ts'
import { getTask, getTaskByKey } from '../operations/read-tasks.ts'
import { presentTask } from '../present.ts'
import { etag } from '../request.ts'
import { problems } from '../schemas/problem-document.ts'
import { ListTasks, Task, TaskKey, TaskPage } from '../schemas/task.ts'
import { Uuid } from '../schemas/values.ts'

const tags = ['tasks']

const list = {
  operationId: 'listTasks',
  tags,
  summary: 'List tasks, newest first',
  querystring: ListTasks,
  response: { 200: TaskPage, ...problems() },
}

const read = {
  operationId: 'getTask',
  tags,
  summary: 'Read a task',
  params: z.object({ id: Uuid }),
  response: { 200: Task, ...problems(404) },
}

const readByKey = {
  operationId: 'getTaskByKey',
  tags,
  summary: 'Read a task by its key',
  params: z.object({ key: TaskKey }),
  response: { 200: Task, ...problems(404) },
}

export function readTaskRoutes(app: App, context: Context): void {
  app.get('/v1/tasks', { schema: list }, async ({ query }) => {
    const { q, cursor, limit, ...filters } = query
    const before = decodeCursor(cursor, isPosition)?.[0]
    const rows = await context.db.run(
      findTasks({ ...filters, projectId: context.projectId, text: q, before, limit: limit + 1 }),
    )
    return pageOf(rows, { limit, present: presentTask, position: ({ id }) => [id] })
  })

  app.get('/v1/tasks/:id', { schema: read }, async ({ params }, reply) => {
    const row = await getTask(context, params.id)
    reply.header('etag', etag(row.version))
    return presentTask(row)
  })

  app.get('/v1/tasks/by-key/:key', { schema: readByKey }, async ({ params }, reply) => {
    const row = await getTaskByKey(context, params.key)
    reply.header('etag', etag(row.version))
    return presentTask(row)
  })
}

const isPosition = (value: unknown): value is readonly [string] =>
  Array.isArray(value) && value.length === 1 && typeof value[0] === 'string' && isUuid(value[0])
