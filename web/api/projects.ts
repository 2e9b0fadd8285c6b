/** The projects that whoever is signed in has a role in. */
import { queryOptions } from '@tanstack/react-query'
import { ask, get, post, queryOf } from './client.ts'
import { inPages } from './pages.ts'
import type { Page, Project } from './wire.ts'

/** More than fit into a list to choose from; the settings list all. */
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

/** All of them, page after page: those in use, or those that are archived. */
export const projectPages = (isArchived: boolean, q?: string) =>
  inPages<Project>({
    queryKey: ['project-pages', isArchived, q ?? null],
    path: PATH,
    filter: { archived: String(isArchived), q },
    limit: PAGE_SIZE,
  })

export const createProject = (name: string): Promise<Project> => post(PATH, { name })

export const archiveProject = async (name: string): Promise<void> => {
  await ask('DELETE', `${PATH}/${name}`)
}

export const restoreProject = (name: string): Promise<Project> => post(`${PATH}/${name}/restore`, {})
