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
