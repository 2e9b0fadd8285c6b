/** Secrets of the project: their names. Nothing here ever reads a value. */
import type { Secret } from '../../src/api/resources/secrets/schemas.ts'
import { ask, type ChangeOptions } from './client.ts'
import { inPages } from './pages.ts'

export type { Secret }

const PAGE_SIZE = 50

export const secretsQuery = inPages<Secret>({
  queryKey: ['secrets'],
  path: '/v1/secrets',
  limit: PAGE_SIZE,
})

const pathOf = (name: string): string => `/v1/secrets/${encodeURIComponent(name)}`

export const setSecret = async (name: string, value: string, options?: ChangeOptions): Promise<Secret> =>
  (await ask<Secret>('PUT', pathOf(name), { body: { value }, ...options })).data

export const deleteSecret = async (name: string, options?: ChangeOptions): Promise<void> => {
  await ask('DELETE', pathOf(name), options)
}
