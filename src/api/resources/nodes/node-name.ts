/** Names of nodes. They consist of a host and a process, which only callers with a role in the installation may see. */
import { allows } from '../../../core/access/role.ts'
import type { Context } from '../../../operations/context.ts'

/** Number of characters of an id that tell the nodes of an installation apart. */
const SHORT_ID = 6

/** Returns the name of a node as a caller sees it: a part of its id for callers who only see projects. */
export const nodeNameFor =
  ({ grant, projectId }: Pick<Context, 'grant' | 'projectId'>) =>
  ({ id, name }: { readonly id: string; readonly name: string }): string =>
    allows(grant, projectId, 'inspect') ? name : `node ${id.slice(-SHORT_ID)}`
