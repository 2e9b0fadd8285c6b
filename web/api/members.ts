/** Who of the people that sign in has which role in the project. */
import { queryOptions } from '@tanstack/react-query'
import type { Member, MemberInput } from '../../src/api/resources/members/schemas.ts'
import { ask, get, post } from './client.ts'

export type { Member, MemberInput }

export const membersQuery = queryOptions({
  queryKey: ['members'],
  queryFn: async ({ signal }) => (await get<{ items: readonly Member[] }>('/v1/members', signal)).items,
})

export const setMember = (input: MemberInput): Promise<Member> => post('/v1/members', input)

export const removeMember = async (id: string): Promise<void> => {
  await ask('DELETE', `/v1/members/${id}`)
}
