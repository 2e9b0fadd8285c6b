/** Secrets of the project: their names. Nothing here ever reads a value. */
import { infiniteQueryOptions } from '@tanstack/react-query'
import type { Secret } from '../../src/api/resources/secrets/schemas.ts'
import { ask, get, queryOf } from './client.ts'
import type { Page } from './wire.ts'

export type { Secret }

const PAGE_SIZE = 50

export const secretsQuery = infiniteQueryOptions({
  queryKey: ['secrets'],
  queryFn: ({ pageParam, signal }) =>
    get<Page<Secret>>(`/v1/secrets${queryOf({ limit: PAGE_SIZE, cursor: pageParam })}`, signal),
  initialPageParam: null as string | null,
  getNextPageParam: ({ nextCursor }) => nextCursor,
})

export const setSecret = async (name: string, value: string): Promise<Secret> =>
  (await ask<Secret>('PUT', `/v1/secrets/${encodeURIComponent(name)}`, { body: { value } })).data

export const deleteSecret = async (name: string): Promise<void> => {
  await ask('DELETE', `/v1/secrets/${encodeURIComponent(name)}`)
}
