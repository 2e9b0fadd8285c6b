import type { Access } from '../../../core/access/role.ts'
import { MIN_INTERVAL_MS } from '../../../core/schedule/validate-schedule.ts'
import { formatDuration } from '../../../core/values/duration.ts'
import { utc, utcOrNull } from '../../../core/values/utc.ts'
import { archiveProject, restoreProject } from '../../../operations/projects/archive-project.ts'
import {
  changeProject,
  createProject,
  findProjects,
  getProject,
} from '../../../operations/projects/project.ts'
import { NoBody } from '../../../operations/validation/values.ts'
import type { ProjectRow } from '../../../store/projects/projects.ts'
import type { App } from '../../app.ts'
import { decodeCursor, pageOf } from '../../http/cursor.ts'
import { problems } from '../../http/schemas/problem-document.ts'
import { CreateProject, EditProject, ListProjects, Project, ProjectName, ProjectPage } from './schemas.ts'

const tags = ['projects']

const create = {
  operationId: 'createProject',
  tags,
  summary: 'Create a project',
  body: CreateProject,
  response: { 201: Project, ...problems(409, 413, 415) },
}

const list = {
  operationId: 'listProjects',
  tags,
  summary: 'List projects by name',
  description: 'The projects that the caller has a role in.',
  querystring: ListProjects,
  response: { 200: ProjectPage, ...problems() },
}

const read = {
  operationId: 'getProject',
  tags,
  summary: 'Read a project: its limits and the sender of its messages',
  params: ProjectName,
  response: { 200: Project, ...problems(404) },
}

const edit = {
  operationId: 'editProject',
  tags,
  summary: 'Set the limits of a project and the sender of its messages',
  params: ProjectName,
  body: EditProject,
  response: { 200: Project, ...problems(404, 413, 415) },
}

const archive = {
  operationId: 'archiveProject',
  tags,
  summary: 'Archive a project',
  description:
    'From now on the project can only be read. Its tasks are paused, and runs that wait or are in progress are cancelled.',
  params: ProjectName,
  response: { 200: Project, ...problems(404, 409) },
}

const restore = {
  operationId: 'restoreProject',
  tags,
  summary: 'Restore an archived project',
  description: 'The tasks that were paused when it was archived resume.',
  params: ProjectName,
  body: NoBody,
  response: { 200: Project, ...problems(404, 413, 415) },
}

export function projectRoutes(app: App): void {
  app.post('/v1/projects', { schema: create, config: { access: 'installation' } }, async (request, reply) => {
    const { name, ...edit } = request.body
    const project = await createProject(request.context, name, edit)
    reply.header('location', `/v1/projects/${name}`)
    return reply.code(201).send(present(project))
  })

  app.get('/v1/projects', { schema: list, config: { access: 'read' } }, async ({ query, context }) => {
    const { limit, cursor, q = null, archived } = query
    const [after = null] = decodeCursor(cursor, isPosition) ?? []
    const rows = await findProjects(context, { q, after, isArchived: archived === 'true', limit: limit + 1 })
    return pageOf(rows, { limit, present, position: ({ name }) => [name] })
  })

  app.get('/v1/projects/:name', { schema: read, config: named('read') }, async ({ context }) =>
    present(await getProject(context)),
  )

  app.patch('/v1/projects/:name', { schema: edit, config: named('administer') }, async ({ body, context }) =>
    present(await changeProject(context, body)),
  )

  app.delete(
    '/v1/projects/:name',
    { schema: archive, config: named('installation') },
    async ({ context }) => {
      await archiveProject(context)
      return present(await getProject(context))
    },
  )

  app.post(
    '/v1/projects/:name/restore',
    { schema: restore, config: named('installation') },
    async ({ context }) => {
      await restoreProject(context)
      return present(await getProject(context))
    },
  )
}

/** The path names the project that the request is about. */
const named = (access: Access) => ({ access, isProjectInPath: true })

const isPosition = (value: unknown): value is readonly [name: string] =>
  Array.isArray(value) && value.length === 1 && typeof value[0] === 'string'

function present({ id, name, minPeriodMs, maxAheadMs, createdAt, archivedAt, ...row }: ProjectRow): Project {
  const minPeriod = formatDuration(minPeriodMs ?? MIN_INTERVAL_MS)
  const maxAhead = maxAheadMs === null ? null : formatDuration(maxAheadMs)
  const mail = { from: row.mailFrom, replyTo: row.mailReplyTo }
  return {
    id,
    name,
    limits: { minPeriod, maxAhead },
    mail,
    network: { allowedPrivate: row.allowedPrivate && [...row.allowedPrivate] },
    createdAt: utc(createdAt),
    archivedAt: utcOrNull(archivedAt),
  }
}
