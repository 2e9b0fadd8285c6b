import { readStats } from '../../../operations/overview/stats.ts'
import { readHistory } from '../../../operations/overview/stats-history.ts'
import { SharedAnswers } from '../../../operations/shared-answer.ts'
import type { App } from '../../app.ts'
import { problems } from '../../http/schemas/problem-document.ts'
import { ReadStatsHistory, Stats, StatsHistory } from './schemas.ts'

const stats = {
  operationId: 'getStats',
  tags: ['overview'],
  summary: 'Read the state of the system, the last hour and day, and upcoming load',
  description:
    'The result is cached for a second, or longer if it is expensive to compute. Counts stop at a limit and then set `atLeast`.',
  response: { 200: Stats, ...problems() },
}

const history = {
  operationId: 'getStatsHistory',
  tags: ['overview'],
  summary: 'Read how runs ended and how late they started, for up to a week',
  querystring: ReadStatsHistory,
  response: { 200: StatsHistory, ...problems() },
}

export function statsRoutes(app: App): void {
  const overviews = new SharedAnswers<Stats>()
  const histories = new SharedAnswers<StatsHistory>()

  app.get('/v1/stats', { schema: stats, config: { access: 'read' } }, async ({ context }) =>
    // The overview has data about all projects only for callers with a role in the installation.
    overviews.get(`${context.projectId} ${context.grant.installation !== null}`, () => readStats(context)),
  )

  app.get(
    '/v1/stats/history',
    { schema: history, config: { access: 'read' } },
    async ({ query: { range }, context }) =>
      histories.get(`${context.projectId} ${range}`, () => readHistory(context, range)),
  )
}
