/** API keys of the project. */
import { queryOptions } from '@tanstack/react-query'
import type { ApiKey, CreateApiKey, NewApiKey } from '../../src/api/resources/keys/schemas.ts'
import { ask, get, post } from './client.ts'

export type { ApiKey, NewApiKey }
export type KeyInput = CreateApiKey

/** More than anybody looks through; the command line lists all. */
const MOST_SHOWN = 200

export const keysQuery = queryOptions({
  queryKey: ['keys'],
  queryFn: async ({ signal }) =>
    (await get<{ items: readonly ApiKey[] }>(`/v1/keys?limit=${MOST_SHOWN}`, signal)).items,
})

/** The key itself is shown this once. */
export const createKey = (input: KeyInput): Promise<NewApiKey> => post('/v1/keys', input)

export const rotateKey = (id: string): Promise<NewApiKey> => post(`/v1/keys/${id}/rotate`, {})

export const revokeKey = async (id: string): Promise<void> => {
  await ask('DELETE', `/v1/keys/${id}`)
}
