/** Describes the caller, as the server sees it. */
import type { Role } from '../../core/access/role.ts'
import { findPerson } from '../../store/access/people.ts'
import { namesOfProjects } from '../../store/projects/projects.ts'
import type { Actor, Context } from '../context.ts'

/** The caller, with its roles. */
export interface Self {
  readonly kind: 'key' | 'person' | 'anonymous'
  readonly id: string | null
  readonly name: string | null
  readonly email: string | null
  readonly installationRole: Role | null
  readonly projects: readonly { readonly name: string; readonly role: Role }[]
  /** The project of requests that name none; null for a caller without any role. */
  readonly project: string | null
}

export async function describeSelf({ db, actor, grant, projectId }: Context): Promise<Self> {
  const ids = [...new Set([...grant.projects.keys(), projectId])]
  const names = new Map((await db.run(namesOfProjects(ids))).map(({ id, name }) => [id, name]))
  const projects = [...grant.projects].map(([id, role]) => ({ name: names.get(id) ?? id, role }))
  const isNobody = grant.installation === null && projects.length === 0
  return {
    ...(await identityOf(db, actor)),
    installationRole: grant.installation,
    projects: projects.toSorted((a, b) => (a.name < b.name ? -1 : 1)),
    project: isNobody ? null : (names.get(projectId) ?? null),
  }
}

async function identityOf(
  db: Context['db'],
  actor: Actor,
): Promise<Pick<Self, 'kind' | 'id' | 'name' | 'email'>> {
  if (actor.kind === 'key') return { kind: 'key', id: actor.id, name: actor.name, email: null }
  if (actor.kind !== 'person') return { kind: 'anonymous', id: null, name: null, email: null }
  const [person] = await db.run(findPerson(actor.id))
  return { kind: 'person', id: actor.id, name: person?.name ?? actor.name, email: person?.email ?? null }
}
