/** Members: the roles that people are given in a project, or in the whole installation, by address or by group. */
import type { Role } from '../../core/access/role.ts'
import { Refusal } from '../../core/errors.ts'
import { uuidv7 } from '../../core/ids.ts'
import {
  deleteMember,
  findMember,
  listMembers,
  type MemberKind,
  type MemberRow,
  saveMember,
} from '../../store/access/people.ts'
import { lockCount } from '../../store/database/lock-count.ts'
import { recordChange } from '../audit-log/record-change.ts'
import { type Context, nameOf } from '../context.ts'
import { requireUnrestricted } from '../keys/keys.ts'

/** Where a role applies: in the project of the call, or in every project. */
export type MemberScope = 'project' | 'installation'

/** Maximum number of members of a project, or of the installation. */
const MAX_MEMBERS = 1_000

/** Who gets which role. */
export interface MemberInput {
  readonly kind: MemberKind
  readonly who: string
  readonly role: Role
}

const projectOf = ({ projectId }: Context, scope: MemberScope): string | null =>
  scope === 'project' ? projectId : null

export function allMembers(context: Context, scope: MemberScope): Promise<MemberRow[]> {
  return context.db.run(listMembers(projectOf(context, scope)))
}

/** Adds a member, or changes the role of an existing one. A restricted key could give itself unrestricted access this way. */
export async function setMember(
  context: Context,
  scope: MemberScope,
  { kind, who: given, role }: MemberInput,
): Promise<{ readonly member: MemberRow; readonly isNew: boolean }> {
  requireUnrestricted(context, 'set members')
  const projectId = projectOf(context, scope)
  const who = kind === 'email' ? given.toLowerCase() : given
  const createdBy = nameOf(context.actor)
  const saved = await context.db.transaction(async (tx) => {
    await tx.run(lockCount('members', projectId))
    const [before] = await tx.run(findMember(projectId, { kind, who }))
    const toSave = { id: uuidv7(), projectId, kind, who, role, createdBy }
    const [member] = await tx.run(saveMember(toSave, MAX_MEMBERS))
    if (!member) throw tooMany(scope)
    if (before?.role !== role)
      await recordChange(tx, context, {
        action: 'member.set',
        subject: { kind: 'member', id: member.id, name: who },
        before: before && told(before),
        after: told(member),
        projectId,
      })
    return { member, isNew: before === undefined }
  })
  context.wakeUps.announceAccess()
  return saved
}

export async function removeMember(context: Context, scope: MemberScope, id: string): Promise<void> {
  const projectId = projectOf(context, scope)
  await context.db.transaction(async (tx) => {
    const [removed] = await tx.run(deleteMember(projectId, id))
    if (!removed) throw new Refusal('not_found', `Member ${id} does not exist.`)
    await recordChange(tx, context, {
      action: 'member.remove',
      subject: { kind: 'member', id, name: removed.who },
      before: told(removed),
      projectId,
    })
  })
  context.wakeUps.announceAccess()
}

const told = ({ kind, who, role }: MemberRow) => ({ [kind]: who, role })

const tooMany = (scope: MemberScope) =>
  new Refusal(
    'too_many_members',
    `The ${scope} has ${MAX_MEMBERS} members, which is the limit. Give roles to groups instead, or remove members.`,
  )
