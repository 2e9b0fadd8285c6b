/** Who is signed in, and how to be. */
import { queryOptions } from '@tanstack/react-query'
import type { Me } from '../../src/api/resources/me/schemas.ts'
import type { SignInMethods } from '../../src/api/resources/sign-in/schemas.ts'
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

/** Whether somebody manages the project that is shown. */
export function isAdmin({ installationRole, projects, project }: Me): boolean {
  const shown = chosenProject() ?? project
  return installationRole === 'admin' || projects.some(({ name, role }) => name === shown && role === 'admin')
}
