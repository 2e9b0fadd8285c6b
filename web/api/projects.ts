/** The projects that whoever is signed in has a role in. */
import { queryOptions } from '@tanstack/react-query'
import { ask, get, post, queryOf } from './client.ts'
import type { Page, Project } from './wire.ts'

/** More than fit into a list to choose from; the command line lists all. */
const MOST_SHOWN = 200

const read = (archived: boolean, signal: AbortSignal) =>
  get<Page<Project>>(`/v1/projects${queryOf({ limit: MOST_SHOWN, archived: String(archived) })}`, signal)

export const projectsQuery = queryOptions({
  queryKey: ['projects'],
  queryFn: async ({ signal }) => (await read(false, signal)).items,
  staleTime: 60_000,
})

export const archivedProjectsQuery = queryOptions({
  queryKey: ['archived-projects'],
  queryFn: async ({ signal }) => (await read(true, signal)).items,
})

export const createProject = (name: string): Promise<Project> => post('/v1/projects', { name })

export const archiveProject = async (name: string): Promise<void> => {
  await ask('DELETE', `/v1/projects/${name}`)
}

export const restoreProject = (name: string): Promise<Project> => post(`/v1/projects/${name}/restore`, {})
