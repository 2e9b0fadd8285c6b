import type { App } from '../app.ts'
import type { Context } from '../operations/context.ts'
import { Overview } from '../operations/stats.ts'
import { problems } from '../schemas/problem-document.ts'
import { Stats } from '../schemas/stats.ts'

const stats = {
  operationId: 'getStats',
  tags: ['overview'],
  summary: 'How things stand, how the last hour and day were, and what comes next',
  description:
    'Made once for all who ask within a second, or longer when it took long to make. Counts stop at bounds and say so with `atLeast`.',
  response: { 200: Stats, ...problems() },
}

export function statsRoutes(app: App, context: Context): void {
  const overview = new Overview(context)
  app.get('/v1/stats', { schema: stats }, async () => overview.get())
}
