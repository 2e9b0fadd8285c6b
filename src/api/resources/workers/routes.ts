/** The interface of remote workers. Each request may go to a different node. */

import assert from 'node:assert/strict'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { z } from 'zod'
import { Refusal } from '../../../core/errors.ts'
import { DEFAULT_CONCURRENCY } from '../../../core/run/claim.ts'
import { labelsOfOffer } from '../../../core/run/own-labels.ts'
import { isTooOld, tooOld } from '../../../core/run/worker-version.ts'

import { utc } from '../../../core/values/utc.ts'
import { requireQueue } from '../../../operations/access/require.ts'
import type { Context } from '../../../operations/context.ts'
import { NoBody } from '../../../operations/validation/values.ts'

import type {
  RemoteLease,
  RemoteRun,
  RemoteWorker,
  RemoteWorkers,
} from '../../../transport/remote-workers.ts'

import type { App } from '../../app.ts'
import { onceClosed } from '../../http/once-closed.ts'
import { problems } from '../../http/schemas/problem-document.ts'
import {
  BeatAnswer,
  BeatWorker,
  type ClaimedRun,
  ClaimedRuns,
  ClaimRuns,
  Done,
  LoggedRuns,
  LogRuns,
  linesFrom,
  RegisteredWorker,
  RegisterWorker,
  ReturnRuns,
} from './schemas.ts'

const tags = ['workers']
const refusals = problems(401, 410, 413, 415)

const register = {
  operationId: 'registerWorker',
  tags,
  summary: 'Register a worker and its handlers',
  body: RegisterWorker,
  response: { 201: RegisteredWorker, ...problems(409, 413, 415, 429) },
}

const claim = {
  operationId: 'claimRuns',
  tags,
  summary: 'Claim runs, waiting until some are available',
  body: ClaimRuns,
  response: { 200: ClaimedRuns, ...refusals },
}

const heartbeat = {
  operationId: 'beatWorker',
  tags,
  summary: 'Send a heartbeat and learn which runs to stop',
  body: BeatWorker,
  response: { 200: BeatAnswer, ...refusals },
}

const log = {
  operationId: 'logRuns',
  tags,
  summary: 'Send lines of the logs of attempts',
  description:
    'The token of an attempt can also send the log of that attempt. Repeating a request stores no line twice.',
  body: LogRuns,
  response: { 200: LoggedRuns, ...problems(401, 403, 410, 413, 415) },
}

const giveBack = {
  operationId: 'returnRuns',
  tags,
  summary: 'Return claimed runs that were not started',
  body: ReturnRuns,
  response: { 200: Done, ...refusals },
}

const leave = {
  operationId: 'stopWorker',
  tags,
  summary: 'Deregister a worker',
  body: NoBody,
  response: { 200: Done, ...refusals },
}

const DEFAULT_WAIT_MS = 20_000

export function workerRoutes(app: App, remoteWorkers: RemoteWorkers): void {
  // Before the server waits for requests to end, because requests that wait for work would delay it.
  app.addHook('preClose', async () => remoteWorkers.dismissAll())

  app.post(
    '/v1/worker/register',
    { schema: register, config: { access: 'work', isOfQueue: true } },
    async ({ body, ip, context }, reply) => {
      const { projectId, actor } = context
      const welcome = await remoteWorkers.register({
        projectId,
        keyId: actor.kind === 'key' ? actor.id : null,
        address: ip,
        name: body.name ?? 'unnamed',
        version: versionOf(body),
        handlers: body.handlers ?? [],
        labels: labelsOfOffer({
          labels: body.labels ?? [],
          actions: body.actions ?? [],
          commands: body.commands ?? [],
        }),
        queues: queuesOf(body.queues ?? null, context),
        concurrency: body.concurrency ?? DEFAULT_CONCURRENCY,
      })
      return reply.code(201).send({ ...welcome })
    },
  )

  app.post(
    '/v1/worker/claim',
    { schema: claim, config: { access: 'token', lasting: 'wait' } },
    async (request, reply) => {
      const { waitMs = DEFAULT_WAIT_MS, ...wanted } = request.body
      const runs = await remoteWorkers.claim(workerFrom(request), { ...wanted, waitMs }, untilClosed(reply))
      return { runs: runs.map(presentRun) }
    },
  )

  app.post('/v1/worker/heartbeat', { schema: heartbeat, config: { access: 'token' } }, async (request) => {
    const worker = workerFrom(request)
    const { commands, runs: named } = request.body ?? {}
    if (commands) await remoteWorkers.offer(worker, commands)
    const runs = named?.map(({ runId, fence, progress }) => ({
      runId,
      fence,
      progress: progress ? { fraction: progress.fraction ?? null, message: progress.message ?? null } : null,
    }))
    const { cancelled, lost } = await remoteWorkers.heartbeat(worker, runs ?? null)
    return { cancelled: [...cancelled], lost: [...lost] }
  })

  app.post(
    '/v1/worker/log',
    { schema: log, config: { access: 'token', isByAttempt: true } },
    async (request) => {
      const { attempt } = request
      const logs = request.body.runs.map(({ lines, ...held }) => ({ ...held, lines: linesFrom(lines) }))
      const isOther = ({ runId, fence }: RemoteLease) => runId !== attempt?.runId || fence !== attempt.fence
      if (attempt && logs.some(isOther))
        throw new Refusal('forbidden', 'The token of an attempt is valid only for the log of this attempt.')
      return { lost: [...(await remoteWorkers.log(workerFrom(request), logs))] }
    },
  )

  app.post('/v1/worker/return', { schema: giveBack, config: { access: 'token' } }, async (request) => {
    await remoteWorkers.giveBack(workerFrom(request), request.body.runs)
    return {}
  })

  app.post('/v1/worker/stop', { schema: leave, config: { access: 'token' } }, async (request) => {
    await remoteWorkers.leave(workerFrom(request))
    return {}
  })
}

/** Returns the worker that sent a request, as authentication has determined. */
export function workerFrom({ worker }: FastifyRequest): RemoteWorker {
  assert(worker !== null, 'routes of workers have access by token')
  return worker
}

const presentRun = ({ given, ...run }: RemoteRun): z.input<typeof ClaimedRun> => ({
  ...run,
  scheduledFor: utc(run.scheduledFor),
  ...(given && {
    action: given.action,
    program: given.program && { ...given.program, files: [...given.program.files] },
    call: given.call && { ...given.call, networks: given.call.networks && [...given.call.networks] },
  }),
})

/** Returns the version of a worker; rejects a worker that performs actions and is too old for that. */
function versionOf({ version = '', actions = [] }: z.output<typeof RegisterWorker>): string {
  if (actions.length > 0 && isTooOld(version)) throw new Refusal('worker_too_old', tooOld(version))
  return version
}

/**
 * Returns the queues that a worker claims from: those that it names, which its key must allow; if it names none, all that the
 * key allows.
 */
function queuesOf(asked: readonly string[] | null, context: Context): readonly string[] | null {
  for (const queue of asked ?? []) requireQueue(context, queue)
  return asked ?? context.reach.queues
}

/** Returns a signal that is aborted when the client has disconnected before the response. */
function untilClosed({ raw }: FastifyReply): AbortSignal {
  const controller = new AbortController()
  onceClosed(raw, () => {
    if (!raw.writableEnded) controller.abort()
  })
  return controller.signal
}
