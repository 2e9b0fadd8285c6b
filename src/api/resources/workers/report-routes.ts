/** Reports of remote workers about ended attempts: hundreds at once, with their results and logs. */

import type { z } from 'zod'
import { invalidInput } from '../../../core/errors.ts'
import { instantMs } from '../../../core/task/task.ts'
import { checkedItems } from '../../../operations/validation/checked-items.ts'
import type { RemoteReport, RemoteWorkers } from '../../../transport/remote-workers.ts'
import type { App } from '../../app.ts'
import { parseListBodies } from '../../http/body-parsing.ts'
import { problems } from '../../http/schemas/problem-document.ts'
import { ofTheList } from '../../http/validation/compiler.ts'
import { workerFrom } from './routes.ts'
import { eachOnce, linesFrom, MAX_RUNS_A_REQUEST, ONCE, Receipts, Report, ReportRuns } from './schemas.ts'

const REPORT_LIMIT = 16 * 1024 * 1024
/** Handlers may return more than is kept, and are informed that it was omitted; this bounds how much is parsed at once. */
const MAX_REPORT_VALUES = 500_000

const complete = {
  operationId: 'completeRuns',
  tags: ['workers'],
  summary: 'Report the outcomes of attempts',
  body: ReportRuns,
  response: { 200: Receipts, ...problems(401, 410, 413, 415) },
}

/** In its own scope, because the bodies are lists, which are parsed item by item. */
export function reportRoutes(app: App, remoteWorkers: RemoteWorkers): void {
  parseListBodies(app, {
    member: 'runs',
    maxItems: MAX_RUNS_A_REQUEST,
    maxItemBytes: REPORT_LIMIT,
    maxItemValues: MAX_REPORT_VALUES,
  })
  const route = {
    schema: complete,
    config: { access: 'token' } as const,
    bodyLimit: REPORT_LIMIT,
    validatorCompiler: ofTheList('runs', MAX_RUNS_A_REQUEST),
  }
  app.post('/v1/worker/complete', route, async (request) => {
    const items = await checkedItems(request.body.runs as never, { schema: Report, member: 'runs' })
    if (!eachOnce(items)) throw invalidInput([{ pointer: '/runs', detail: ONCE }])
    const receipts = await remoteWorkers.complete(workerFrom(request), items.map(reportOf))
    return {
      runs: receipts.map(({ runId, fence, isRecorded, isPending }) => ({
        runId,
        fence,
        recorded: isRecorded,
        pending: isPending,
      })),
    }
  })
}

function reportOf(report: z.output<typeof Report>): RemoteReport {
  const {
    retryable = true,
    retryAt,
    retryInMs = null,
    error,
    log = [],
    logFirst = 0,
    result,
    ...held
  } = report
  return {
    ...held,
    result,
    isRetryable: retryable,
    retryAt: retryAt ? instantMs(retryAt) : null,
    retryInMs,
    error: error
      ? {
          code: error.code ?? 'handler_failed',
          message: error.message,
          stack: error.stack ?? null,
          detail: error.detail ?? null,
        }
      : null,
    log: linesFrom(log),
    logFirst,
  }
}
