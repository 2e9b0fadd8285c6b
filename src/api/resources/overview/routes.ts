import { readStats } from '../../../operations/overview/stats.ts'
import { readHistory } from '../../../operations/overview/stats-history.ts'
import { SharedAnswers } from '../../../operations/shared-answer.ts'
import type { App } from '../../app.ts'
import { problems } from '../../http/schemas/problem-document.ts'
import { ReadStatsHistory, Stats, StatsHistory } from './schemas.ts'

const stats = {
  operationId: 'getStats',
  tags: ['overview'],
  summary: 'How things stand, how the last hour and day were, and what comes next',
  description:
    'Made once for all who ask within a second, or longer when it took long to make. Counts stop at bounds and say so with `atLeast`.',
  response: { 200: Stats, ...problems() },
}

const history = {
  operationId: 'getStatsHistory',
  tags: ['overview'],
  summary: 'How runs ended and how late they began, over up to a week',
  querystring: ReadStatsHistory,
  response: { 200: StatsHistory, ...problems() },
}

export function statsRoutes(app: App): void {
  const overviews = new SharedAnswers<Stats>()
  const histories = new SharedAnswers<StatsHistory>()

  app.get('/v1/stats', { schema: stats }, async ({ context }) =>
    overviews.get(context.projectId, () => readStats(context)),
  )

  app.get('/v1/stats/history', { schema: history }, async ({ query: { range }, context }) =>
    histories.get(`${context.projectId} ${range}`, () => readHistory(context, range)),
  )
}
