/** Changes tasks: edits, pauses, resumes, cancels and deletes them. */

import { z } from 'zod'
import { editTask } from '../../../operations/tasks/edit-task.ts'
import { endTask } from '../../../operations/tasks/end-task.ts'
import { pauseTask, resumeTask } from '../../../operations/tasks/pause-task.ts'
import { getTask } from '../../../operations/tasks/read-tasks.ts'
import { skipNext, unskipNext } from '../../../operations/tasks/skip-next.ts'
import { NoBody, Uuid } from '../../../operations/validation/values.ts'
import type { App } from '../../app.ts'
import { callerOf, etag, expectedVersion, headers } from '../../http/request.ts'
import { problems } from '../../http/schemas/problem-document.ts'
import { presentTask } from './present.ts'
import { EditTask, PauseTask, ResumeTask, SkipNext, Task } from './schemas.ts'

const tags = ['tasks']
const byId = z.object({ id: Uuid })

const edit = {
  operationId: 'editTask',
  tags,
  summary: 'Change fields of a task',
  params: byId,
  headers: headers.conditional,
  body: EditTask,
  response: { 200: Task, ...problems(404, 409, 412, 413, 415) },
}

const remove = {
  operationId: 'deleteTask',
  tags,
  summary: 'Delete a task; its history is kept',
  params: byId,
  response: { 204: z.null(), ...problems(404, 413, 415) },
}

const change = (operationId: string, summary: string) => ({
  operationId,
  tags,
  summary,
  params: byId,
  body: NoBody,
  response: { 200: Task, ...problems(404, 409, 413, 415) },
})

const skip = {
  ...change('skipNextOfTask', 'Skip the next occurrences of a task'),
  description:
    'Each occurrence is recorded as skipped when it comes due. A new request replaces the previous one.',
  body: SkipNext.nullish(),
}

const unskip = {
  operationId: 'unskipNextOfTask',
  tags,
  summary: 'Undo a request to skip occurrences',
  params: byId,
  response: { 200: Task, ...problems(404, 409, 413, 415) },
}

export function changeTaskRoutes(app: App): void {
  app.patch(
    '/v1/tasks/:id',
    { schema: edit, config: { access: 'edit', isOfQueue: true } },
    async (request, reply) => {
      const { id } = request.params
      await editTask(request.context, {
        id,
        edit: request.body,
        expected: expectedVersion(request),
        by: callerOf(request),
      })
      const row = await getTask(request.context, id)
      reply.header('etag', etag(row.version))
      return presentTask(row)
    },
  )

  app.delete(
    '/v1/tasks/:id',
    { schema: remove, config: { access: 'edit', isOfQueue: true } },
    async (request, reply) => {
      await endTask(request.context, request.params.id, 'delete')
      return reply.code(204).send(null)
    },
  )

  const pause = {
    ...change('pauseTask', 'Pause a task until it is resumed, or until a given time'),
    body: PauseTask.nullish(),
  }
  app.post(
    '/v1/tasks/:id/pause',
    { schema: pause, config: { access: 'operate', isOfQueue: true } },
    async ({ params, body, context }) => {
      await pauseTask(context, params.id, body ?? {})
      return presentTask(await getTask(context, params.id))
    },
  )

  const resume = {
    ...change('resumeTask', 'Resume a task at its next occurrence'),
    body: ResumeTask.nullish(),
  }
  app.post(
    '/v1/tasks/:id/resume',
    { schema: resume, config: { access: 'operate', isOfQueue: true } },
    async ({ params, body, context }) => {
      await resumeTask(context, params.id, body ?? {})
      return presentTask(await getTask(context, params.id))
    },
  )

  app.post(
    '/v1/tasks/:id/skip-next',
    { schema: skip, config: { access: 'operate', isOfQueue: true } },
    async ({ params, body, context }) => {
      await skipNext(context, params.id, body ?? {})
      return presentTask(await getTask(context, params.id))
    },
  )

  app.delete(
    '/v1/tasks/:id/skip-next',
    { schema: unskip, config: { access: 'operate', isOfQueue: true } },
    async ({ params, context }) => {
      await unskipNext(context, params.id)
      return presentTask(await getTask(context, params.id))
    },
  )

  const cancel = change('cancelTask', 'Cancel a task and its current run')
  app.post(
    '/v1/tasks/:id/cancel',
    { schema: cancel, config: { access: 'operate', isOfQueue: true } },
    async ({ params, context }) => {
      await endTask(context, params.id, 'cancel')
      return presentTask(await getTask(context, params.id))
    },
  )
}
