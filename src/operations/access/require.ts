import { allows, type GrantedAccess, neededRole } from '../../core/access/role.ts'
import { Refusal } from '../../core/errors.ts'
import type { Context } from '../context.ts'

/** Rejects a caller without the given access. For checks that depend on more than the route. */
export function requireAccess(
  { grant, projectId }: Pick<Context, 'grant' | 'projectId'>,
  access: GrantedAccess,
): void {
  if (!allows(grant, projectId, access))
    throw new Refusal('forbidden', `This request needs the role ${neededRole(access)}.`)
}

/** Rejects a caller whose key is limited to other queues. */
export function requireQueue({ reach: { queues } }: Pick<Context, 'reach'>, queue: string): void {
  if (queues !== null && !queues.includes(queue))
    throw new Refusal('forbidden', `This API key cannot be used for the queue ${queue}.`)
}

/** Rejects a caller whose key is limited to queues other than the task's. */
export const requireQueueOf = (caller: Pick<Context, 'reach'>, { queue }: { readonly queue: string }): void =>
  requireQueue(caller, queue)

/** Rejects a caller whose key is limited to queues, for requests that concern more than one queue. */
export function requireAllQueues({ reach: { queues } }: Pick<Context, 'reach'>): void {
  if (queues !== null)
    throw new Refusal(
      'forbidden',
      'This API key is limited to queues, and this request concerns more than one queue.',
    )
}
