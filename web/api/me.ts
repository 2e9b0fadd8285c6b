/** The signed-in user, and how to sign in and out. */
import { queryOptions, useQuery } from '@tanstack/react-query'
import type { Me } from '../../src/api/resources/me/schemas.ts'
import type { SignInMethods } from '../../src/api/resources/sign-in/schemas.ts'
import { allows, type GrantedAccess } from '../../src/core/access/role.ts'
import { chosenProject } from './chosen-project.ts'
import { get, post } from './client.ts'

export type { Me, SignInMethods }

export const meQuery = queryOptions({
  queryKey: ['me'],
  queryFn: ({ signal }) => get<Me>('/v1/me', signal),
  staleTime: 60_000,
})

export const signInMethodsQuery = queryOptions({
  queryKey: ['sign-in-methods'],
  queryFn: ({ signal }) => get<SignInMethods>('/auth/methods', signal),
})

export const signInWithKey = (key: string): Promise<null> => post('/auth/sign-in', { key })

export const signOut = (): Promise<null> => post('/auth/sign-out')

export const signOutEverywhere = (): Promise<{ readonly sessions: number }> =>
  post('/auth/sign-out-everywhere')

/** The name of the project that is shown. */
export const shownProject = (me: Me | undefined): string => chosenProject() ?? me?.project ?? 'default'

/** Returns a function that says whether the signed-in user has an access right in the shown project. */
export function useMay(): (access: GrantedAccess) => boolean {
  const { data: me } = useQuery(meQuery)
  if (!me) return () => false
  const projects = new Map(me.projects.map(({ name, role }) => [name, role]))
  return (access) => allows({ installation: me.installationRole, projects }, shownProject(me), access)
}
