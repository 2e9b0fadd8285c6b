/** Logs of runs: as pages of JSON, as text, or as server-sent events while the run is live. */
import { Readable } from 'node:stream'
import type { FastifyRequest } from 'fastify'
import { z } from 'zod'
import { invalidInput } from '../../../core/errors.ts'
import {
  formatLogPosition,
  LOG_START,
  type LogPosition,
  parseLogPosition,
} from '../../../core/run/log-line.ts'
import { LogText } from '../../../core/run/log-text.ts'
import { isLiveState } from '../../../core/run/run.ts'
import { instantMs } from '../../../core/task/task.ts'
import type { Context, Facilities } from '../../../operations/context.ts'
import { findLog, type LogFilter, readAllLines, readLines } from '../../../operations/runs/read-log.ts'
import { Uuid } from '../../../operations/validation/values.ts'
import type { RunWithLog } from '../../../store/logs/read.ts'
import type { Logger } from '../../../telemetry/logger.ts'
import type { App } from '../../app.ts'
import { EVENT_STREAM, wantsEvents } from '../../http/request.ts'
import { problems } from '../../http/schemas/problem-document.ts'
import { LogFollowers, MAX_LOG_STREAMS } from './log-followers.ts'
import { presentLine } from './log-present.ts'
import { LogPage, ReadLog } from './log-schemas.ts'

const TEXT = 'text/plain'
const EXAMPLE =
  'event: hello\nid: \ndata: {"now":"2026-11-16T08:00:00.000Z","retryMs":2000}\n\n' +
  'event: lines\nid: 1.0.1\ndata: [{"id":"1.0.0","attempt":1,"at":"2026-11-16T08:00:00.512Z","stream":"stdout","level":null,"text":"copying","isPartial":false,"omitted":null},…]\n\n' +
  'event: end\ndata: {"reason":"ended","state":"completed"}\n\n'

const read = {
  operationId: 'readLog',
  tags: ['runs'],
  summary: 'Read or follow the log of a run',
  description:
    'What the attempts of a run wrote: output of programs and lines of handlers. By default a page of lines as JSON; a search over a long log may return fewer lines than ' +
    'requested, or none: continue as long as `nextCursor` is not null. With `Accept: text/plain` the whole log as text. With `Accept: text/event-stream` ' +
    'server-sent events until the run ends: `hello`, then `lines` with arrays of lines, and `end`. A request with `Last-Event-ID`, to any node, continues where the stream stopped; if the run has ended and ' +
    'nothing is left, the response is 204.',
  params: z.object({ id: Uuid }),
  querystring: ReadLog,
  headers: z.looseObject({
    'last-event-id': z
      .string()
      .max(40)
      .optional()
      .describe('Id of the last received event. Browsers send it when they reconnect.'),
  }),
  response: {
    200: {
      description: 'Lines of the log.',
      content: {
        'application/json': { schema: LogPage },
        [TEXT]: { schema: z.string() },
        [EVENT_STREAM]: { schema: z.string().meta({ example: EXAMPLE }) },
      },
    },
    204: z.null().describe('The run has ended and there are no lines after `Last-Event-ID`.'),
    ...problems(404),
  },
}

export function logRoutes(app: App, { db, clock }: Facilities, log: Logger): void {
  const followers = new LogFollowers({ db, clock, log, limit: MAX_LOG_STREAMS })
  let isClosing = false
  // Before the server waits for requests to end, because streams may take long.
  app.addHook('preClose', async () => {
    isClosing = true
    followers.close()
  })

  app.get(
    '/v1/runs/:id/log',
    {
      schema: read,
      config: { access: 'read', lasting: 'stream_if_asked', isProjectInQuery: true },
      exposeHeadRoute: false,
    },
    async (request, reply) => {
      const { query, context, params } = request
      const run = await findLog(context, params.id)
      const filter = filterOf(query)
      const after = positionOf(query.after)
      if (wantsEvents(request)) {
        const resumed = resumedAt(request) ?? after
        if (resumed !== LOG_START && (await isDone(context, run, resumed, filter)))
          return reply.code(204).send(null)
        const headers = { 'x-request-id': request.id, ...request.browserRules }
        followers.open({ response: reply.raw, headers, context, run, after: resumed, filter }, () =>
          reply.hijack(),
        )
        return reply
      }
      if (wantsText(request)) {
        const text = new LogText({
          hasTimes: query.timestamps === 'true',
          hasAttempts: filter.attempt === null,
        })
        reply.headers({
          'content-type': `${TEXT}; charset=utf-8`,
          'content-disposition': `attachment; filename="run-${run.runId}.log"`,
        })
        const pages = textPages(text, readAllLines(db, run, filter), () => isClosing)
        return reply.send(Readable.from(pages, { objectMode: false, highWaterMark: 1 }) as never)
      }
      const { lines, next } = await readLines(db, run, { after, limit: query.limit, filter })
      return { items: lines.map(presentLine), nextCursor: next && formatLogPosition(next) }
    },
  )
}

async function* textPages(
  text: LogText,
  pages: ReturnType<typeof readAllLines>,
  isClosing: () => boolean,
): AsyncGenerator<string> {
  for await (const lines of pages) {
    if (isClosing()) throw new Error('this node is shutting down')
    if (lines.length > 0) yield text.page(lines)
  }
  const rest = text.end()
  if (rest !== '') yield rest
}

const filterOf = ({ attempt, since, q }: ReadLog): LogFilter => ({
  attempt: attempt ?? null,
  since: since === undefined ? null : instantMs(since),
  text: q ?? null,
})

function positionOf(after: string | undefined): LogPosition {
  if (after === undefined) return LOG_START
  const position = parseLogPosition(after)
  if (position) return position
  throw invalidInput([{ pointer: '?after', detail: 'must be the id of a line, or the nextCursor of a page' }])
}

/**
 * Returns the position that a client continues from. Browsers do not reconnect after an error, so an invalid position means the
 * beginning.
 */
function resumedAt({ headers }: FastifyRequest): LogPosition | null {
  const id = headers['last-event-id']
  return typeof id === 'string' && id !== '' ? (parseLogPosition(id) ?? LOG_START) : null
}

/** Returns whether there is nothing more to send, so that a browser need not reconnect. */
async function isDone(
  { db }: Context,
  run: RunWithLog,
  after: LogPosition,
  filter: LogFilter,
): Promise<boolean> {
  if (isLiveState(run.state)) return false
  const { lines, next } = await readLines(db, run, { after, limit: 2, filter })
  return lines.every(({ omitted }) => omitted !== null) && next === null
}

const wantsText = ({ headers: { accept }, query }: FastifyRequest): boolean => {
  const { format } = query as ReadLog
  return format === undefined ? accept?.includes(TEXT) === true : format === 'text'
}
