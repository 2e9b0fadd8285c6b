import { allows, type GrantedAccess, neededRole } from '../../core/access/role.ts'
import { Refusal } from '../../core/errors.ts'
import type { Context } from '../context.ts'

/** Refuses a caller who lacks an access: for what depends on more than the route. */
export function requireAccess(
  { grant, projectId }: Pick<Context, 'grant' | 'projectId'>,
  access: GrantedAccess,
): void {
  if (!allows(grant, projectId, access))
    throw new Refusal('forbidden', `This request needs the role ${neededRole(access)}.`)
}

/** Refuses a caller whose key is limited to other queues. */
export function requireQueue({ reach: { queues } }: Pick<Context, 'reach'>, queue: string): void {
  if (queues !== null && !queues.includes(queue))
    throw new Refusal('forbidden', `This API key cannot be used for the queue ${queue}.`)
}

/** Refuses a caller whose key is limited to other queues than that of a task. */
export const requireQueueOf = (caller: Pick<Context, 'reach'>, { queue }: { readonly queue: string }): void =>
  requireQueue(caller, queue)

/** Refuses a caller whose key is limited to queues, for what concerns more than one of them. */
export function requireAllQueues({ reach: { queues } }: Pick<Context, 'reach'>): void {
  if (queues !== null)
    throw new Refusal(
      'forbidden',
      'This API key is limited to queues, and this request concerns more than one queue.',
    )
}
