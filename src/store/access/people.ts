/** People who have signed in, and the roles of members. */
import type { Role } from '../../core/access/role.ts'
import { list, part, sql } from '../database/sql.ts'

/** A person as the identity provider describes them. */
export interface Identity {
  readonly issuer: string
  readonly subject: string
  /** In lower case; null unless the provider has verified it. */
  readonly email: string | null
  readonly name: string | null
  readonly groups: readonly string[]
}

/** Creates the person, or replaces the stored identity. */
export const savePerson = (id: string, { issuer, subject, email, name, groups }: Identity) => sql<{
  id: string
}>`
  insert into person (id, issuer, subject, email, name, groups)
  values (${id}, ${issuer}, ${subject}, ${email}, ${name}, ${list(groups, (group) => group)}::text[])
  on conflict (issuer, subject) do update set
    email = excluded.email, name = excluded.name, groups = excluded.groups, signed_in_at = now()
  returning id`

/** A person who has signed in at least once, and how many sessions they have. */
export interface PersonRow extends Identity {
  readonly id: string
  readonly createdAt: number
  readonly signedInAt: number
  readonly sessions: number
}

export const listPeople = ({ after, limit }: { after: string | null; limit: number }) => sql<PersonRow>`
  select p.id, p.issuer, p.subject, p.email, p.name, p.groups, p.created_at as "createdAt",
         p.signed_in_at as "signedInAt",
         (select count(*)::int from session s where s.person_id = p.id) as sessions
  from person p
  where ${after}::uuid is null or p.id > ${after}::uuid
  order by p.id
  limit ${limit}`

export const findPerson = (id: string) => sql<{ id: string; name: string; email: string | null }>`
  select id, coalesce(name, email, subject) as name, email from person where id = ${id}`

/** What a member is identified by. */
export const MEMBER_KINDS = ['email', 'group'] as const
export type MemberKind = (typeof MEMBER_KINDS)[number]

/** A member: who has a role. */
export interface MemberRow {
  readonly id: string
  /** Null for a member of the installation. */
  readonly projectId: string | null
  readonly kind: MemberKind
  readonly who: string
  readonly role: Role
  readonly createdAt: number
  readonly createdBy: string | null
}

const columns = part`m.id, m.project_id as "projectId", m.kind, m.who, m.role, m.created_at as "createdAt", m.created_by as "createdBy"`

export const listMembers = (projectId: string | null) => sql<MemberRow>`
  select ${columns} from member m
  where m.project_id is not distinct from ${projectId}::uuid
  order by m.kind, m.who`

export const findMember = (
  projectId: string | null,
  { kind, who }: Pick<MemberRow, 'kind' | 'who'>,
) => sql<MemberRow>`
  select ${columns} from member m
  where m.project_id is not distinct from ${projectId}::uuid and m.kind = ${kind} and m.who = ${who}`

export type NewMember = Omit<MemberRow, 'createdAt'>

/** Adds a member, or changes the role of an existing one. No row if the maximum number of members is reached. */
export const saveMember = (
  { id, projectId, kind, who, role, createdBy }: NewMember,
  maxMembers: number,
) => sql<MemberRow>`
  insert into member as m (id, project_id, kind, who, role, created_by)
  select ${id}::uuid, ${projectId}::uuid, ${kind}, ${who}, ${role}, ${createdBy}
  where (select count(*) from member o
         where o.project_id is not distinct from ${projectId}::uuid and (o.kind, o.who) <> (${kind}, ${who})) < ${maxMembers}::integer
  on conflict on constraint member_who do update set role = excluded.role
  returning ${columns}`

export const deleteMember = (projectId: string | null, id: string) => sql<MemberRow>`
  delete from member m
  where m.id = ${id} and m.project_id is not distinct from ${projectId}::uuid
  returning ${columns}`
