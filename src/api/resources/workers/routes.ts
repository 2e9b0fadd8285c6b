/** The interface of workers of the users' own. It may be asked of a different node each time. */

import type { FastifyReply, FastifyRequest } from 'fastify'
import { utc } from '../../../core/values/utc.ts'
import { NoBody } from '../../../operations/validation/values.ts'
import type { RemoteWorker, RemoteWorkers } from '../../../transport/remote-workers.ts'
import type { App } from '../../app.ts'
import { problems } from '../../http/schemas/problem-document.ts'
import {
  BeatAnswer,
  BeatWorker,
  ClaimedRuns,
  ClaimRuns,
  Done,
  RegisteredWorker,
  RegisterWorker,
  ReturnRuns,
} from './schemas.ts'

const tags = ['workers']
const security = [{ workerToken: [] }]
const refusals = problems(401, 410, 413, 415)

const register = {
  operationId: 'registerWorker',
  tags,
  summary: 'Register a worker and its handlers',
  body: RegisterWorker,
  response: { 201: RegisteredWorker, ...problems(413, 415, 429) },
}

const claim = {
  operationId: 'claimRuns',
  tags,
  security,
  summary: 'Claim runs, waiting until there are some',
  body: ClaimRuns,
  response: { 200: ClaimedRuns, ...refusals },
}

const heartbeat = {
  operationId: 'beatWorker',
  tags,
  security,
  summary: 'Send a heartbeat and learn which runs to stop',
  body: BeatWorker,
  response: { 200: BeatAnswer, ...refusals },
}

const giveBack = {
  operationId: 'returnRuns',
  tags,
  security,
  summary: 'Return claimed runs that were not started',
  body: ReturnRuns,
  response: { 200: Done, ...refusals },
}

const leave = {
  operationId: 'stopWorker',
  tags,
  security,
  summary: 'Deregister a worker',
  body: NoBody,
  response: { 200: Done, ...refusals },
}

const DEFAULT_CONCURRENCY = 10
const DEFAULT_WAIT_MS = 20_000

export function workerRoutes(app: App, remoteWorkers: RemoteWorkers): void {
  const whoAsks = (request: FastifyRequest) => authenticate(remoteWorkers, request)
  // Before the server waits for requests to end: those who wait for work would keep it.
  app.addHook('preClose', async () => remoteWorkers.dismissAll())

  app.post('/v1/worker/register', { schema: register }, async ({ body, ip, context }, reply) => {
    const welcome = await remoteWorkers.register({
      projectId: context.projectId,
      address: ip,
      name: body.name ?? 'unnamed',
      version: body.version ?? '',
      handlers: body.handlers,
      labels: [...new Set(body.labels ?? [])],
      queues: body.queues ?? null,
      concurrency: body.concurrency ?? DEFAULT_CONCURRENCY,
    })
    return reply.code(201).send({ ...welcome })
  })

  app.post('/v1/worker/claim', { schema: claim }, async (request, reply) => {
    const { waitMs = DEFAULT_WAIT_MS, ...wanted } = request.body
    const worker = await whoAsks(request)
    const runs = await remoteWorkers.claim(worker, { ...wanted, waitMs }, untilClosed(reply))
    return { runs: runs.map((run) => ({ ...run, scheduledFor: utc(run.scheduledFor) })) }
  })

  app.post('/v1/worker/heartbeat', { schema: heartbeat }, async (request) => {
    const runs = request.body?.runs?.map(({ runId, fence, progress }) => ({
      runId,
      fence,
      progress: progress ? { fraction: progress.fraction ?? null, message: progress.message ?? null } : null,
    }))
    const { cancelled, lost } = await remoteWorkers.heartbeat(await whoAsks(request), runs ?? null)
    return { cancelled: [...cancelled], lost: [...lost] }
  })

  app.post('/v1/worker/return', { schema: giveBack }, async (request) => {
    await remoteWorkers.giveBack(await whoAsks(request), request.body.runs)
    return {}
  })

  app.post('/v1/worker/stop', { schema: leave }, async (request) => {
    await remoteWorkers.leave(await whoAsks(request))
    return {}
  })
}

const BEARER = /^Bearer +(\S+)$/i

/** The worker that a request comes from, by its token. */
export function authenticate(
  remoteWorkers: RemoteWorkers,
  { headers }: FastifyRequest,
): Promise<RemoteWorker> {
  return remoteWorkers.authenticate(BEARER.exec(headers.authorization ?? '')?.[1] ?? null)
}

/** Fires when whoever asked is no longer there to hear the answer. */
function untilClosed({ raw }: FastifyReply): AbortSignal {
  const controller = new AbortController()
  raw.once('close', () => {
    if (!raw.writableEnded) controller.abort()
  })
  return controller.signal
}
