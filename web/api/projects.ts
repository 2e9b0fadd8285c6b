/** The projects in which the signed-in user has a role. */
import { queryOptions } from '@tanstack/react-query'
import { ask, type ChangeOptions, get, post, queryOf } from './client.ts'
import { inPages } from './pages.ts'
import type { Page, Project } from './wire.ts'

/** A menu shows at most this many; the settings list all of them. */
export const MOST_CHOICES = 200
const PAGE_SIZE = 50
const PATH = '/v1/projects'

/** Projects to choose from. */
export const projectsQuery = queryOptions({
  queryKey: ['projects'],
  queryFn: async ({ signal }) =>
    (await get<Page<Project>>(PATH + queryOf({ limit: MOST_CHOICES, archived: 'false' }), signal)).items,
  staleTime: 60_000,
})

/** All projects, page by page: either those in use or the archived ones. */
export const projectPages = (isArchived: boolean, q?: string) =>
  inPages<Project>({
    queryKey: ['project-pages', isArchived, q ?? null],
    path: PATH,
    filter: { archived: String(isArchived), q },
    limit: PAGE_SIZE,
  })

export const createProject = (name: string, options?: ChangeOptions): Promise<Project> =>
  post(PATH, { name }, options)

export const archiveProject = async (name: string, options?: ChangeOptions): Promise<void> => {
  await ask('DELETE', `${PATH}/${name}`, options)
}

export const restoreProject = (name: string, options?: ChangeOptions): Promise<Project> =>
  post(`${PATH}/${name}/restore`, {}, options)
