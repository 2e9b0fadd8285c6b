/** Members: the roles of the people who sign in. */
import { z } from 'zod'
import type { Access } from '../../../core/access/role.ts'
import { utc } from '../../../core/values/utc.ts'
import { allMembers, type MemberScope, removeMember, setMember } from '../../../operations/members/members.ts'
import { Uuid } from '../../../operations/validation/values.ts'
import type { MemberRow } from '../../../store/access/people.ts'
import type { App } from '../../app.ts'
import { problems } from '../../http/schemas/problem-document.ts'
import { Member, MemberInput, MemberList } from './schemas.ts'

const tags = ['members']

/**
 * A place where members have roles: the same routes exist for a project and for the installation, with different paths and
 * access.
 */
interface Place {
  readonly path: string
  readonly scope: MemberScope
  readonly access: Access
  /** The suffix of the operation ids. */
  readonly suffix: string
  readonly of: string
}

const PLACES: readonly Place[] = [
  { path: '/v1/members', scope: 'project', access: 'administer', suffix: 'Member', of: 'the project' },
  {
    path: '/v1/installation/members',
    scope: 'installation',
    access: 'installation',
    suffix: 'InstallationMember',
    of: 'the installation (roles apply in every project)',
  },
]

export function memberRoutes(app: App): void {
  for (const place of PLACES) routesAt(app, place)
}

function routesAt(app: App, { path, scope, access, suffix, of }: Place): void {
  const config = { access }
  const list = {
    operationId: `list${suffix}s`,
    tags,
    summary: `List the members of ${of}`,
    response: { 200: MemberList, ...problems() },
  }
  app.get(path, { schema: list, config }, async ({ context }) => ({
    items: (await allMembers(context, scope)).map(present),
  }))

  const set = {
    operationId: `set${suffix}`,
    tags,
    summary: `Add or update a member of ${of}`,
    description: 'Takes effect within two seconds for people who are signed in.',
    body: MemberInput,
    response: {
      200: Member.describe('The member existed; its role was changed.'),
      201: Member.describe('The member was added.'),
      ...problems(409, 413, 415),
    },
  }
  app.post(path, { schema: set, config }, async ({ body, context }, reply) => {
    const { email, group, role } = body
    const whom =
      email === undefined
        ? ({ kind: 'group', who: group ?? '' } as const)
        : ({ kind: 'email', who: email } as const)
    const { member, isNew } = await setMember(context, scope, { ...whom, role })
    return reply.code(isNew ? 201 : 200).send(present(member))
  })

  const remove = {
    operationId: `remove${suffix}`,
    tags,
    summary: `Remove a member of ${of}`,
    params: z.object({ id: Uuid }),
    response: { 204: z.null().describe('The member was removed.'), ...problems(404) },
  }
  app.delete(`${path}/:id`, { schema: remove, config }, async ({ params, context }, reply) => {
    await removeMember(context, scope, params.id)
    return reply.code(204).send(null)
  })
}

const present = ({ id, kind, who, role, createdAt, createdBy }: MemberRow): Member => ({
  id,
  email: kind === 'email' ? who : null,
  group: kind === 'group' ? who : null,
  role: role as Member['role'],
  createdAt: utc(createdAt),
  createdBy,
})
