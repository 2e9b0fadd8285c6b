/** Settings of a whole project: limits, blackouts, subscriptions. */
import { queryOptions } from '@tanstack/react-query'
import { ask, type ChangeOptions, get, post } from './client.ts'
import { meQuery, shownProject } from './me.ts'
import { inPages } from './pages.ts'
import { queryClient } from './query-client.ts'
import type {
  Blackout,
  BlackoutInput,
  Project,
  ProjectEdit,
  Subscription,
  SubscriptionInput,
} from './wire.ts'

const REFRESH_MS = 10_000
const PAGE_SIZE = 50

export const projectQuery = queryOptions({
  queryKey: ['project'],
  queryFn: async ({ signal }) => get<Project>(await projectPath(), signal),
  refetchInterval: REFRESH_MS,
})

export const editProject = async (edit: ProjectEdit, options?: ChangeOptions): Promise<Project> =>
  (await ask<Project>('PATCH', await projectPath(), { body: edit, ...options })).data

/** The API path of the shown project. */
async function projectPath(): Promise<string> {
  const name = shownProject(await queryClient.ensureQueryData(meQuery))
  return `/v1/projects/${encodeURIComponent(name)}`
}

export const blackoutsQuery = queryOptions({
  queryKey: ['blackouts'],
  queryFn: async ({ signal }) => (await get<{ items: readonly Blackout[] }>('/v1/blackouts', signal)).items,
  refetchInterval: REFRESH_MS,
})

export const createBlackout = (input: BlackoutInput, options?: ChangeOptions): Promise<Blackout> =>
  post('/v1/blackouts', input, options)

export const deleteBlackout = async (id: string, options?: ChangeOptions): Promise<void> => {
  await ask('DELETE', `/v1/blackouts/${id}`, options)
}

export const subscriptionsQuery = {
  ...inPages<Subscription>({ queryKey: ['subscriptions'], path: '/v1/subscriptions', limit: PAGE_SIZE }),
  refetchInterval: REFRESH_MS,
}

/** The answer is the only one that contains the signing secret. */
export const createSubscription = (
  input: SubscriptionInput,
  options?: ChangeOptions,
): Promise<Subscription & { readonly secret: string }> => post('/v1/subscriptions', input, options)

export const resumeSubscription = (id: string): Promise<Subscription> =>
  post(`/v1/subscriptions/${id}/resume`, {})

export const deleteSubscription = async (id: string, options?: ChangeOptions): Promise<void> => {
  await ask('DELETE', `/v1/subscriptions/${id}`, options)
}
