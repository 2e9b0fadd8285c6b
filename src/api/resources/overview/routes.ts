import type { Context } from '../../../operations/context.ts'
import { sharedStats } from '../../../operations/overview/stats.ts'
import { readHistory } from '../../../operations/overview/stats-history.ts'
import { MadeForAll } from '../../../operations/shared-answer.ts'
import type { App } from '../../app.ts'
import { problems } from '../../http/schemas/problem-document.ts'
import { HISTORY_RANGES, type HistoryRange, ReadStatsHistory, Stats, StatsHistory } from './schemas.ts'

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

export function statsRoutes(app: App, context: Context): void {
  const overview = sharedStats(context)
  const histories = Object.fromEntries(
    HISTORY_RANGES.map((range) => [range, new MadeForAll(() => readHistory(context, range))]),
  ) as Record<HistoryRange, MadeForAll<StatsHistory>>

  app.get('/v1/stats', { schema: stats }, async () => overview.get())

  app.get('/v1/stats/history', { schema: history }, async ({ query: { range } }) => histories[range].get())
}
