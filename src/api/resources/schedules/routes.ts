import { previewSchedule } from '../../../operations/schedules/preview-schedule.ts'
import type { App } from '../../app.ts'
import { problems } from '../../http/schemas/problem-document.ts'
import { Preview, PreviewRequest } from './schemas.ts'

const preview = {
  operationId: 'previewSchedule',
  tags: ['schedules'],
  summary: 'Preview when a schedule fires',
  body: PreviewRequest,
  response: { 200: Preview, ...problems(413, 415) },
}

export function scheduleRoutes(app: App): void {
  app.post(
    '/v1/schedules/preview',
    { schema: preview, config: { access: 'read' } },
    async ({ body, context }) => previewSchedule(body, Math.floor(context.clock.now())),
  )
}
