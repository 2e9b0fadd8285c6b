/** Tokens of registered workers, and of the single attempts that they pass to programs. */
import type { FastifyRequest } from 'fastify'
import { NOTHING, UNLIMITED } from '../../core/access/role.ts'
import { Refusal } from '../../core/errors.ts'
import { attemptOfToken } from '../../operations/access/attempt-token.ts'
import type { Call } from '../../operations/context.ts'
import type { RemoteWorker } from '../../transport/remote-workers.ts'
import type { AuthenticationOptions } from './authentication.ts'
import { requireNetwork } from './key-authenticator.ts'
import { bearerOf } from './request.ts'

/**
 * Returns the worker that sent a request. Its token is valid as long as the key that it registered with, and only from the
 * networks of that key.
 */
export async function workerOf(
  request: FastifyRequest,
  { remoteWorkers, keys, facilities }: Pick<AuthenticationOptions, 'remoteWorkers' | 'keys' | 'facilities'>,
): Promise<RemoteWorker> {
  const { isByAttempt } = request.routeOptions.config
  if (isByAttempt) request.attempt = await attemptOfToken(facilities, bearerOf(request))
  const worker = request.attempt
    ? await remoteWorkers.find(request.attempt.workerId)
    : await remoteWorkers.authenticate(bearerOf(request))
  const key = worker.keyId === null ? null : await keys.findById(worker.keyId)
  if (key) requireNetwork(key, request)
  if (key ?? (worker.keyId === null && (await keys.isOpen()))) return worker
  throw new Refusal(
    'unknown_token',
    worker.keyId === null
      ? 'This worker registered without an API key, and this server now requires one. Register again with a key of the role worker.'
      : 'The API key that this worker registered with is no longer valid. Register again with a valid key.',
  )
}

export const workerCall = ({ id, projectId, queues }: RemoteWorker, { ip }: FastifyRequest): Call => ({
  projectId,
  actor: { kind: 'worker', id, address: ip ?? null },
  grant: NOTHING,
  reach: { ...UNLIMITED, queues },
})
