/** Secrets of the project: their names. Nothing here ever reads a value. */
import { queryOptions } from '@tanstack/react-query'
import type { Secret, SecretInUse } from '../../src/api/resources/secrets/schemas.ts'
import { ask, type ChangeOptions, get, queryOf } from './client.ts'
import { inPages } from './pages.ts'

export type { Secret, SecretInUse }

const PAGE_SIZE = 50

export const secretsQuery = inPages<Secret>({
  queryKey: ['secrets'],
  path: '/v1/secrets',
  limit: PAGE_SIZE,
})

interface DeleteOptions {
  /** Deletes the secret even if something uses it. */
  readonly isForced?: boolean
}

export const pathOfSecret = (name: string, { isForced = false }: DeleteOptions = {}): string =>
  `/v1/secrets/${encodeURIComponent(name)}${queryOf({ force: isForced ? 'true' : undefined })}`

/** A secret and what uses it. It is not cached: what uses it changes with every task. */
export const secretQuery = (name: string) =>
  queryOptions({
    queryKey: ['secret', name],
    queryFn: ({ signal }) => get<SecretInUse>(pathOfSecret(name), signal),
    gcTime: 0,
  })

export const setSecret = async (name: string, value: string, options?: ChangeOptions): Promise<Secret> =>
  (await ask<Secret>('PUT', pathOfSecret(name), { body: { value }, ...options })).data

export const deleteSecret = async (
  name: string,
  { isForced = false, ...options }: ChangeOptions & DeleteOptions,
): Promise<void> => {
  await ask('DELETE', pathOfSecret(name, { isForced }), options)
}
