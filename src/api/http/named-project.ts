/** The project that a request is about: the one that it names, or the caller's own. */
import type { FastifyRequest } from 'fastify'
import { PROJECT_HEADER } from '../../core/access/project-header.ts'
import { type Access, OF_ARCHIVED, sees } from '../../core/access/role.ts'
import { Refusal } from '../../core/errors.ts'
import { DEFAULT_PROJECT_ID } from '../../core/values/default-project.ts'
import type { Principal } from '../../operations/access/principal.ts'
import type { ProjectBook } from '../../operations/projects/project-book.ts'
import type { KnownProject } from '../../store/projects/projects.ts'

/** Longer project names are truncated in error messages. */
const MAX_NAME_CHARACTERS = 100

type CalledProject = Pick<KnownProject, 'id' | 'name' | 'isArchived'>

/** It cannot be archived, so it need not be looked up. */
const DEFAULT_PROJECT: CalledProject = { id: DEFAULT_PROJECT_ID, name: 'default', isArchived: false }

/** Returns the project that the request names or the principal belongs to. One that they cannot see does not exist for them. */
export async function projectFor(
  { grant, homeProjectId }: Pick<Principal, 'grant' | 'homeProjectId'>,
  request: FastifyRequest,
  projects: ProjectBook,
): Promise<CalledProject> {
  const name = nameIn(request)
  const projectId = homeProjectId ?? DEFAULT_PROJECT_ID
  const project =
    name !== undefined
      ? await (grant.installation === null
          ? projects.namedAmong(name, grant.projects.keys())
          : projects.named(name))
      : projectId === DEFAULT_PROJECT_ID
        ? DEFAULT_PROJECT
        : await projects.withId(projectId)
  if (project && sees(grant, project.id)) return project
  throw new Refusal(
    'not_found',
    `Project ${(name ?? projectId).slice(0, MAX_NAME_CHARACTERS)} does not exist.`,
  )
}

/** Returns the project that a request names in its path, its query or its header. */
function nameIn({ routeOptions, params, query, headers }: FastifyRequest): string | undefined {
  const { isProjectInPath, isProjectInQuery } = routeOptions.config
  const inQuery = isProjectInQuery ? (query as { readonly project?: unknown }).project : undefined
  const named = isProjectInPath
    ? (params as { readonly name?: string }).name
    : (inQuery ?? headers[PROJECT_HEADER])
  return typeof named === 'string' ? named : undefined
}

export function refuseArchived(
  { name, isArchived }: Pick<KnownProject, 'name' | 'isArchived'>,
  access: Access,
): void {
  if (isArchived && !OF_ARCHIVED.has(access))
    throw new Refusal('project_archived', `Project ${name} is archived and can only be read.`)
}
