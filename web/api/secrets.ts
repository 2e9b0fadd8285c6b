/** Secrets of the project: their names. Nothing here ever reads a value. */
import type { Secret } from '../../src/api/resources/secrets/schemas.ts'
import { ask } from './client.ts'
import { inPages } from './pages.ts'

export type { Secret }

const PAGE_SIZE = 50

export const secretsQuery = inPages<Secret>({
  queryKey: ['secrets'],
  path: '/v1/secrets',
  limit: PAGE_SIZE,
})

export const setSecret = async (name: string, value: string): Promise<Secret> =>
  (await ask<Secret>('PUT', `/v1/secrets/${encodeURIComponent(name)}`, { body: { value } })).data

export const deleteSecret = async (name: string): Promise<void> => {
  await ask('DELETE', `/v1/secrets/${encodeURIComponent(name)}`)
}
