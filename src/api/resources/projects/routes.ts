import { MIN_INTERVAL_MS } from '../../../core/schedule/validate-schedule.ts'
import { formatDuration } from '../../../core/values/duration.ts'
import type { Context } from '../../../operations/context.ts'
import { changeProject, getProject } from '../../../operations/projects/project.ts'
import type { ProjectRow } from '../../../store/projects/projects.ts'
import type { App } from '../../app.ts'
import { problems } from '../../http/schemas/problem-document.ts'
import { utc } from '../../present.ts'
import { EditProject, Project } from './schemas.ts'

const tags = ['project']

const read = {
  operationId: 'getProject',
  tags,
  summary: 'Read the project: its limits, and who sends its messages',
  response: { 200: Project, ...problems() },
}

const edit = {
  operationId: 'editProject',
  tags,
  summary: 'Limit how often tasks may be due and how far ahead, and say who sends messages',
  body: EditProject,
  response: { 200: Project, ...problems(413, 415) },
}

export function projectRoutes(app: App, context: Context): void {
  app.get('/v1/project', { schema: read }, async () => present(await getProject(context)))

  app.patch('/v1/project', { schema: edit }, async ({ body }) => present(await changeProject(context, body)))
}

function present({ id, name, minPeriodMs, maxAheadMs, createdAt, ...row }: ProjectRow): Project {
  const minPeriod = formatDuration(minPeriodMs ?? MIN_INTERVAL_MS)
  const maxAhead = maxAheadMs === null ? null : formatDuration(maxAheadMs)
  const mail = { from: row.mailFrom, replyTo: row.mailReplyTo }
  return { id, name, limits: { minPeriod, maxAhead }, mail, createdAt: utc(createdAt) }
}
