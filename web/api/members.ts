/** Members: the roles of people and groups in the project or in the whole installation. People: everyone who has signed in. */
import { queryOptions } from '@tanstack/react-query'
import type { Member, MemberInput } from '../../src/api/resources/members/schemas.ts'
import type { Person } from '../../src/api/resources/people/schemas.ts'
import { ask, type ChangeOptions, get, post } from './client.ts'
import { inPages } from './pages.ts'

export type { Member, MemberInput, Person }

/** Where a role counts: in the project that is shown, or in every project. */
export type MemberScope = 'project' | 'installation'

export const MEMBER_PATHS = {
  project: '/v1/members',
  installation: '/v1/installation/members',
} as const satisfies Record<MemberScope, string>

export const membersQuery = (scope: MemberScope) =>
  queryOptions({
    queryKey: ['members', scope],
    queryFn: async ({ signal }) =>
      (await get<{ items: readonly Member[] }>(MEMBER_PATHS[scope], signal)).items,
  })

export const setMember = (scope: MemberScope, input: MemberInput, options?: ChangeOptions): Promise<Member> =>
  post(MEMBER_PATHS[scope], input, options)

export const removeMember = async (
  scope: MemberScope,
  id: string,
  options?: ChangeOptions,
): Promise<void> => {
  await ask('DELETE', `${MEMBER_PATHS[scope]}/${id}`, options)
}

const PAGE_SIZE = 50

export const peopleQuery = inPages<Person>({ queryKey: ['people'], path: '/v1/people', limit: PAGE_SIZE })

/** Ends all sessions of a person and returns how many there were. */
export const signOutPerson = (id: string, options?: ChangeOptions): Promise<{ readonly sessions: number }> =>
  post(`/v1/people/${id}/sign-out`, undefined, options)
