/** Targets: the servers that calls go to, how many calls are in progress, and why others wait. */
import { z } from 'zod'
import { parseTarget } from '../../../core/target/target-name.ts'
import { getTarget, limitTarget, pauseTarget, readTargets } from '../../../operations/targets/targets.ts'
import { NoBody } from '../../../operations/validation/values.ts'
import type { App } from '../../app.ts'
import { decodeCursor, pageOf } from '../../http/cursor.ts'
import { problems } from '../../http/schemas/problem-document.ts'
import { presentSummary, presentTarget } from './present.ts'
import { EditTarget, PauseTarget, ReadTargets, Target, TargetList, TargetName } from './schemas.ts'

const tags = ['targets']
const params = z.object({ target: TargetName })

const list = {
  operationId: 'listTargets',
  tags,
  summary: 'List targets by name',
  description:
    'Lists the targets that nodes called in the last 10 minutes, those that runs are waiting for, and those with settings.',
  querystring: ReadTargets,
  response: { 200: TargetList, ...problems() },
}

const read = {
  operationId: 'getTarget',
  tags,
  summary: 'Read a target',
  params,
  response: { 200: Target, ...problems(404) },
}

const edit = {
  operationId: 'editTarget',
  tags,
  summary: 'Set the limit and the rate of a target',
  params,
  body: EditTarget,
  response: { 200: Target, ...problems(409, 413, 415) },
}

const pause = {
  operationId: 'pauseTarget',
  tags,
  summary: 'Pause a target; its runs wait',
  params,
  body: PauseTarget,
  response: { 200: Target, ...problems(409, 413, 415) },
}

const resume = { ...pause, operationId: 'resumeTarget', summary: 'Resume a target', body: NoBody }

export function targetRoutes(app: App): void {
  app.get('/v1/targets', { schema: list, config: { access: 'read' } }, async ({ query, context }) => {
    const { q, state, limit, cursor } = query
    const [after = null] = decodeCursor(cursor, isPosition) ?? []
    const page = { part: q ?? null, state: state ?? null, after, limit: limit + 1 }
    const views = await readTargets(context, page)
    return pageOf(views, { limit, present: presentSummary, position: ({ target }) => [target] })
  })

  app.get('/v1/targets/:target', { schema: read, config: { access: 'read' } }, async ({ params, context }) =>
    presentTarget(context, await getTarget(context, params.target)),
  )

  app.patch(
    '/v1/targets/:target',
    { schema: edit, config: { access: 'edit' } },
    async ({ params, body, context }) =>
      presentTarget(context, await limitTarget(context, params.target, body)),
  )

  app.post(
    '/v1/targets/:target/pause',
    { schema: pause, config: { access: 'operate' } },
    async ({ params, body, context }) =>
      presentTarget(
        context,
        await pauseTarget(context, params.target, { isPaused: true, reason: body?.reason ?? null }),
      ),
  )

  app.post(
    '/v1/targets/:target/resume',
    { schema: resume, config: { access: 'operate' } },
    async ({ params, context }) =>
      presentTarget(context, await pauseTarget(context, params.target, { isPaused: false })),
  )
}

const isPosition = (value: unknown): value is readonly [string] =>
  Array.isArray(value) && value.length === 1 && typeof value[0] === 'string' && parseTarget(value[0]).ok
