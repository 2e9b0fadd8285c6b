/** API keys of the project. */
import type { z } from 'zod'
import type {
  ApiKey,
  CreateApiKey,
  EditApiKey,
  NewApiKey,
  RotateApiKey,
} from '../../src/api/resources/keys/schemas.ts'
import { ask, type ChangeOptions, post } from './client.ts'
import { inPages } from './pages.ts'

export type { ApiKey, NewApiKey }
export type KeyInput = CreateApiKey
export type KeyEdit = z.input<typeof EditApiKey>
export type KeyRotation = NonNullable<z.input<typeof RotateApiKey>>

const PAGE_SIZE = 50

export const keysQuery = inPages<ApiKey>({ queryKey: ['keys'], path: '/v1/keys', limit: PAGE_SIZE })

/** The answer is the only one that contains the key itself. */
export const createKey = (input: KeyInput, options?: ChangeOptions): Promise<NewApiKey> =>
  post('/v1/keys', input, options)

export const editKey = async (id: string, edit: KeyEdit, options?: ChangeOptions): Promise<void> => {
  await ask('PATCH', `/v1/keys/${id}`, { body: edit, ...options })
}

export const rotateKey = (id: string, rotation: KeyRotation, options?: ChangeOptions): Promise<NewApiKey> =>
  post(`/v1/keys/${id}/rotate`, rotation, options)

export const revokeKey = async (id: string, options?: ChangeOptions): Promise<void> => {
  await ask('DELETE', `/v1/keys/${id}`, options)
}
