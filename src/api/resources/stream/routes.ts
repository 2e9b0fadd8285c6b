/** Streams changes of runs and tasks as server-sent events, as an alternative to polling. */
import { z } from 'zod'
import type { Facilities } from '../../../operations/context.ts'
import type { Logger } from '../../../telemetry/logger.ts'
import type { App } from '../../app.ts'
import { problems } from '../../http/schemas/problem-document.ts'
import { ChangeFeeds } from './change-feed.ts'
import { WatchChanges } from './schemas.ts'
import { MAX_STREAMS, Streams } from './streams.ts'

const EXAMPLE =
  'event: hello\nid: 1794816000000\ndata: {"now":"2026-11-16T08:00:00.000Z","retryMs":2000}\n\n' +
  'event: changes\nid: 1794816000512\ndata: {"now":"2026-11-16T08:00:00.512Z","runs":[…],"tasks":[…],"deletedTasks":[],"circuits":[],"isComplete":true}\n\n'

const stream = {
  operationId: 'watchChanges',
  tags: ['overview'],
  summary: 'Stream changes of runs and tasks',
  description:
    'Server-sent events, at most two per second: `hello` first, then `changes` with the current state of runs and tasks, and `reload` if changes ' +
    'are missing. Read lists after `hello`. A request with `Last-Event-ID` within a minute continues where the stream stopped.',
  querystring: WatchChanges,
  headers: z.looseObject({
    'last-event-id': z
      .string()
      .max(100)
      .optional()
      .describe('Id of the last received event. Browsers send it when they reconnect.'),
  }),
  response: {
    200: {
      description: 'An open-ended stream.',
      content: { 'text/event-stream': { schema: z.string().meta({ example: EXAMPLE }) } },
    },
    ...problems(),
  },
}

export function streamRoutes(app: App, facilities: Facilities, log: Logger): void {
  const feeds = new ChangeFeeds(facilities, log)
  const streams = new Streams({ feeds, clock: facilities.clock, limit: MAX_STREAMS })
  // Before the server waits for requests to end, because streams do not end by themselves.
  app.addHook('preClose', async () => streams.close())

  app.get(
    '/v1/stream',
    {
      schema: stream,
      config: { access: 'read', lasting: 'stream', isProjectInQuery: true },
      exposeHeadRoute: false,
    },
    async (request, reply) => {
      const lastEventId = request.headers['last-event-id']
      const watcher = {
        response: reply.raw,
        headers: { 'x-request-id': request.id, ...request.browserRules },
        projectId: request.context.projectId,
        taskId: request.query.taskId ?? null,
        lastEventId: typeof lastEventId === 'string' ? lastEventId : null,
      }
      await streams.open(watcher, () => reply.hijack())
      return reply
    },
  )
}
