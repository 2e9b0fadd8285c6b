import type { Access } from '../../../core/access/role.ts'
import { inWords } from '../../../core/limits/limits.ts'
import { MIN_INTERVAL_MS } from '../../../core/schedule/validate-schedule.ts'
import { formatDuration } from '../../../core/values/duration.ts'
import { utc, utcOrNull } from '../../../core/values/utc.ts'
import type { Context } from '../../../operations/context.ts'
import { readUse } from '../../../operations/limits/read-use.ts'
import { archiveProject, restoreProject } from '../../../operations/projects/archive-project.ts'
import {
  changeProject,
  createProject,
  findProjects,
  getProject,
  projectLimits,
  projectRetention,
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
  summary: 'Read a project: its limits, what it uses of them, its retention, and the sender of its messages',
  params: ProjectName,
  response: { 200: Project, ...problems(404) },
}

const edit = {
  operationId: 'editProject',
  tags,
  summary: 'Set the limits and retention of a project and the sender of its messages',
  params: ProjectName,
  body: EditProject,
  response: { 200: Project, ...problems(404, 413, 415) },
}

const archive = {
  operationId: 'archiveProject',
  tags,
  summary: 'Archive a project',
  description:
    'The project becomes read-only. Its tasks are paused, and runs that wait or are in progress are cancelled.',
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
    return reply.code(201).send(await shown(request.context, project))
  })

  app.get('/v1/projects', { schema: list, config: { access: 'read' } }, async ({ query, context }) => {
    const { limit, cursor, q = null, archived } = query
    const [after = null] = decodeCursor(cursor, isPosition) ?? []
    const rows = await findProjects(context, { q, after, isArchived: archived === 'true', limit: limit + 1 })
    return pageOf(rows, { limit, present, position: ({ name }) => [name] })
  })

  app.get('/v1/projects/:name', { schema: read, config: named('read') }, async ({ context }) =>
    shown(context, await getProject(context)),
  )

  app.patch('/v1/projects/:name', { schema: edit, config: named('administer') }, async ({ body, context }) =>
    shown(context, await changeProject(context, body)),
  )

  app.delete(
    '/v1/projects/:name',
    { schema: archive, config: named('installation') },
    async ({ context }) => {
      await archiveProject(context)
      return shown(context, await getProject(context))
    },
  )

  app.post(
    '/v1/projects/:name/restore',
    { schema: restore, config: named('installation') },
    async ({ context }) => {
      await restoreProject(context)
      return shown(context, await getProject(context))
    },
  )
}

/**
 * The path names the project of the request. Not counted against request rates, so that an admin who has used up a limit can
 * still read and change it.
 */
const named = (access: Access) => ({ access, isProjectInPath: true, isUncounted: true })

const isPosition = (value: unknown): value is readonly [name: string] =>
  Array.isArray(value) && value.length === 1 && typeof value[0] === 'string'

/** Presents a single project, with its usage. */
const shown = async (context: Context, row: ProjectRow): Promise<Project> => ({
  ...present(row),
  use: await readUse({ ...context, projectId: row.id }, row),
})

function present(row: ProjectRow): Project {
  const { id, name, mailFrom, mailReplyTo, mailServer, createdAt, archivedAt } = row
  const limits = inWords(projectLimits(row))
  return {
    id,
    name,
    limits: { ...limits, minPeriod: limits.minPeriod ?? formatDuration(MIN_INTERVAL_MS) },
    use: null,
    mail: { from: mailFrom, replyTo: mailReplyTo, server: mailServer },
    network: { allowedPrivate: row.allowedPrivate && [...row.allowedPrivate] },
    retention: projectRetention(row),
    createdAt: utc(createdAt),
    archivedAt: utcOrNull(archivedAt),
  }
}
