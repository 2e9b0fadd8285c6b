/** Resolves prefixes of ids, for people who type them. */

import { findIds } from '../../../operations/tasks/find-ids.ts'
import type { App } from '../../app.ts'
import { problems } from '../../http/schemas/problem-document.ts'
import { FindIds, FoundIds } from './schemas.ts'

const find = {
  operationId: 'findIds',
  tags: ['tasks'],
  summary: 'Find tasks, runs or files by the first characters of their id',
  description:
    'Ids start with their creation time: ids created within about a minute share their first 8 characters.',
  querystring: FindIds,
  response: { 200: FoundIds, ...problems() },
}

export function idRoutes(app: App): void {
  app.get('/v1/ids', { schema: find, config: { access: 'read' } }, async ({ query, context }) => {
    const { items, hasMore } = await findIds(context, query)
    return { items: [...items], hasMore }
  })
}
