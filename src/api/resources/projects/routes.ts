import { MIN_INTERVAL_MS } from '../../../core/schedule/validate-schedule.ts'
import { formatDuration } from '../../../core/values/duration.ts'
import { utc } from '../../../core/values/utc.ts'
import { changeProject, getProject } from '../../../operations/projects/project.ts'
import type { ProjectRow } from '../../../store/projects/projects.ts'
import type { App } from '../../app.ts'
import { problems } from '../../http/schemas/problem-document.ts'
import { EditProject, Project, ProjectName } from './schemas.ts'

const tags = ['projects']

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

export function projectRoutes(app: App): void {
  app.get('/v1/projects/:name', { schema: read, config: { access: 'read' } }, async ({ params, context }) =>
    present(await getProject(context, params.name)),
  )

  app.patch(
    '/v1/projects/:name',
    { schema: edit, config: { access: 'administer' } },
    async ({ params, body, context }) => present(await changeProject(context, params.name, body)),
  )
}

function present({ id, name, minPeriodMs, maxAheadMs, createdAt, ...row }: ProjectRow): Project {
  const minPeriod = formatDuration(minPeriodMs ?? MIN_INTERVAL_MS)
  const maxAhead = maxAheadMs === null ? null : formatDuration(maxAheadMs)
  const mail = { from: row.mailFrom, replyTo: row.mailReplyTo }
  return { id, name, limits: { minPeriod, maxAhead }, mail, createdAt: utc(createdAt) }
}
