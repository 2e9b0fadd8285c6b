/** Versions of a task: what they changed, who made them, and rollback to one of them. */

import { z } from 'zod'
import { MAX_INTEGER } from '../../../core/values/integer.ts'
import { getTask } from '../../../operations/tasks/read-tasks.ts'
import { rollbackTask } from '../../../operations/tasks/rollback-task.ts'
import { getVersion, listVersions } from '../../../operations/tasks/task-versions.ts'
import { Uuid } from '../../../operations/validation/values.ts'
import type { App } from '../../app.ts'
import { decodeCursor, pageOf } from '../../http/cursor.ts'
import { callerOf, etag, expectedVersion, headers } from '../../http/request.ts'
import { problems } from '../../http/schemas/problem-document.ts'
import { presentTask } from '../tasks/present.ts'
import { Task } from '../tasks/schemas.ts'
import { presentVersion, presentVersionSummary } from './present.ts'
import { ListVersions, RollbackTask, TaskVersion, TaskVersionPage, VersionNumber } from './schemas.ts'

const tags = ['tasks']
const byId = z.object({ id: Uuid })

const list = {
  operationId: 'listVersionsOfTask',
  tags,
  summary: 'List versions of a task and their changes, latest first',
  params: byId,
  querystring: ListVersions,
  response: { 200: TaskVersionPage, ...problems(404) },
}

const read = {
  operationId: 'getVersionOfTask',
  tags,
  summary: 'Read one version of a task',
  params: z.object({ id: Uuid, version: VersionNumber }),
  response: { 200: TaskVersion, ...problems(404) },
}

const rollback = {
  operationId: 'rollbackTask',
  tags,
  summary: 'Restore an earlier version of a task',
  description:
    'Creates a new version with the definition of the earlier one. Like an edit, it affects only occurrences that are not yet due: a run keeps the version ' +
    'it was fired with.',
  params: byId,
  headers: headers.conditional,
  body: RollbackTask,
  response: { 200: Task, ...problems(404, 409, 412, 413, 415) },
}

export function versionRoutes(app: App): void {
  app.get(
    '/v1/tasks/:id/versions',
    { schema: list, config: { access: 'read' } },
    async ({ params, query, context }) => {
      const { limit } = query
      const [before = null] = decodeCursor(query.cursor, isPosition) ?? []
      const versions = await listVersions(context, { taskId: params.id, before, limit })
      return pageOf(versions, {
        limit,
        present: presentVersionSummary,
        position: ({ row }) => [row.version],
      })
    },
  )

  app.get(
    '/v1/tasks/:id/versions/:version',
    { schema: read, config: { access: 'read' } },
    async ({ params, context }) =>
      presentVersion(await getVersion(context, { taskId: params.id, version: params.version })),
  )

  app.post(
    '/v1/tasks/:id/rollback',
    { schema: rollback, config: { access: 'edit', isOfQueue: true } },
    async (request, reply) => {
      const { id } = request.params
      const { version, reason = null } = request.body
      await rollbackTask(request.context, {
        id,
        version,
        reason,
        expected: expectedVersion(request),
        by: callerOf(request),
      })
      const row = await getTask(request.context, id)
      reply.header('etag', etag(row.version))
      return presentTask(row)
    },
  )
}

type Position = readonly [version: number]

const isPosition = (value: unknown): value is Position =>
  Array.isArray(value) &&
  value.length === 1 &&
  Number.isInteger(value[0]) &&
  value[0] > 0 &&
  value[0] <= MAX_INTEGER
