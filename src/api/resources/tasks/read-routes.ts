/** Reads tasks: one by its id or key, or many in pages. */
import { z } from 'zod'
import type { Context } from '../../../operations/context.ts'
import { enrichTasks, type Includable } from '../../../operations/tasks/enrich-tasks.ts'
import { getTask, getTaskByKey } from '../../../operations/tasks/read-tasks.ts'
import { searchTasks } from '../../../operations/tasks/search-tasks.ts'
import { Uuid } from '../../../operations/validation/values.ts'
import type { TaskRow } from '../../../store/tasks/tasks.ts'
import type { App } from '../../app.ts'
import { decodeCursor, encodeCursor, pageOf } from '../../http/cursor.ts'
import { isTaskPosition } from '../../http/next-link.ts'
import { etag } from '../../http/request.ts'
import { problems } from '../../http/schemas/problem-document.ts'
import { presentEnriched } from './present.ts'
import { ListTasks, ReadTask, Task, TaskKey, TaskPage } from './schemas.ts'

const tags = ['tasks']

const list = {
  operationId: 'listTasks',
  tags,
  summary: 'List tasks, newest first',
  description:
    'A search by state stops after a second: the page then has `partial: true` and may contain fewer tasks than requested, or ' +
    'none. Continue as long as `nextCursor` is not null.',
  querystring: ListTasks,
  response: { 200: TaskPage, ...problems() },
}

const read = {
  operationId: 'getTask',
  tags,
  summary: 'Read a task',
  params: z.object({ id: Uuid }),
  querystring: ReadTask,
  response: { 200: Task, ...problems(404) },
}

const readByKey = {
  operationId: 'getTaskByKey',
  tags,
  summary: 'Read a task by its key',
  params: z.object({ key: TaskKey }),
  querystring: ReadTask,
  response: { 200: Task, ...problems(404) },
}

export function readTaskRoutes(app: App): void {
  app.get('/v1/tasks', { schema: list, config: { access: 'read' } }, async ({ query, context }) => {
    const { q, cursor, limit, include, ...filters } = query
    const before = decodeCursor(cursor, isTaskPosition)?.[0]
    const search = { ...filters, projectId: context.projectId, text: q, before }
    const { rows, examined } = await searchTasks(context, search, { limit })
    const page = pageOf(rows, { limit, present: (row) => row, position: ({ id }) => [id] })
    const nextCursor = page.nextCursor ?? (examined === null ? null : encodeCursor([examined]))
    const partial = page.nextCursor === null && nextCursor !== null
    const tasks = await enrichTasks(context, page.items, include)
    return { items: tasks.map(presentEnriched), nextCursor, partial }
  })

  app.get(
    '/v1/tasks/:id',
    { schema: read, config: { access: 'read' } },
    async ({ params, query, context }, reply) => {
      const row = await getTask(context, params.id)
      reply.header('etag', etag(row.version))
      return presentOne(context, row, query.include)
    },
  )

  app.get(
    '/v1/tasks/by-key/:key',
    { schema: readByKey, config: { access: 'read' } },
    async ({ params, query, context }, reply) => {
      const row = await getTaskByKey(context, params.key)
      reply.header('etag', etag(row.version))
      return presentOne(context, row, query.include)
    },
  )
}

async function presentOne(context: Context, row: TaskRow, include: readonly Includable[] | undefined) {
  const [task = { row }] = await enrichTasks(context, [row], include)
  return presentEnriched(task)
}
