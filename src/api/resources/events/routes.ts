/** Streams completion events as server-sent events, starting at any point of history. */
import { z } from 'zod'
import type { EventFilter } from '../../../core/run/history-event.ts'
import { HistoryTail } from '../../../events/history-tail.ts'
import { requireAccess } from '../../../operations/access/require.ts'
import { auditProjectOf } from '../../../operations/audit-log/read-entries.ts'
import type { Context, Facilities } from '../../../operations/context.ts'
import type { Logger } from '../../../telemetry/logger.ts'
import type { App } from '../../app.ts'
import { problems } from '../../http/schemas/problem-document.ts'
import { deletedAfter } from './deleted-after.ts'
import { EventClients, MAX_EVENT_STREAMS, startOf } from './event-clients.ts'
import { LastEventId, WatchEvents } from './schemas.ts'

const EXAMPLE =
  'event: hello\nid: 1.7q5_hd0b8dk2yo\ndata: {"now":"2026-11-16T08:00:00.000Z","retryMs":2000}\n\n' +
  'event: belfry.run.completed\nid: 1.7q5_hd0b8dk2yo.7q9_hd0b8dk9al.hd0b8ey2cc_01a1e11d-ded6-7000-8575-b69c4b835701\n' +
  'data: {"specversion":"1.0","id":"01a1e11d-ded6-7000-8575-b69c4b835701.ended","type":"belfry.run.completed",…}\n\n'

const events = {
  operationId: 'watchEvents',
  tags: ['events'],
  summary: 'Stream events of runs as they end',
  description:
    'Server-sent events with CloudEvents 1.0 as data: one event for each run that ends and, if requested, for each circuit of a target that opens or closes, delivered at least once, in order for each task and target. The first event is `hello`; ' +
    '`gap` means that requested history was deleted; `end` means that the server closes the stream. A request with `Last-Event-ID`, to any node, continues ' +
    'where the stream stopped, for as long as history is kept.',
  querystring: WatchEvents,
  headers: LastEventId,
  response: {
    200: {
      description: 'An open-ended stream.',
      content: { 'text/event-stream': { schema: z.string().meta({ example: EXAMPLE }) } },
    },
    ...problems(),
  },
}

export function eventRoutes(app: App, { db, clock }: Facilities, log: Logger): void {
  const tails = {
    history: new HistoryTail({ db, log }),
    'audit-log': new HistoryTail({ db, log, source: 'audit-log' }),
  }
  const clients = new EventClients({
    ...{ tails, clock, log, limit: MAX_EVENT_STREAMS },
    deletedAfter: (read) => deletedAfter(db, read),
  })
  // Before the server waits for requests to end, because streams do not end by themselves.
  app.addHook('preClose', async () => clients.close())

  app.get(
    '/v1/events',
    {
      schema: events,
      config: { access: 'read', lasting: 'stream', isProjectInQuery: true },
      exposeHeadRoute: false,
    },
    async (request, reply) => {
      const lastEventId = request.headers['last-event-id']
      const { after } = request.query
      const start = startOf({ after, lastEventId: typeof lastEventId === 'string' ? lastEventId : null })
      const filter = filterOf(request.query)
      const projectId = projectOf(request.context, request.query)
      const follower = {
        response: reply.raw,
        headers: { 'x-request-id': request.id, ...request.browserRules },
        ...{ projectId, filter, start },
      }
      await clients.open(follower, () => reply.hijack())
      return reply
    },
  )
}

/** Returns the project whose events are streamed. The audit log is for admins; the whole of it for admins of the installation. */
function projectOf(context: Context, { events, scope }: WatchEvents): string | null {
  if (events !== 'audit-log') return context.projectId
  requireAccess(context, 'administer')
  return auditProjectOf(context, scope)
}

function filterOf({ events, action, state, taskId, tag, type, queue, owner }: WatchEvents): EventFilter {
  const only = <T>(value: T | undefined) => (value === undefined ? undefined : [value])
  return {
    events: events === 'all' ? ['runs', 'circuits'] : only(events),
    actions: only(action),
    states: only(state),
    taskIds: only(taskId?.toLowerCase()),
    tags: only(tag),
    types: only(type),
    queues: only(queue),
    owners: only(owner),
  }
}
