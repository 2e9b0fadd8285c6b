/** API keys of the project. */
import type { z } from 'zod'
import type { ApiKey, CreateApiKey, EditApiKey, NewApiKey } from '../../src/api/resources/keys/schemas.ts'
import { ask, post } from './client.ts'
import { inPages } from './pages.ts'

export type { ApiKey, NewApiKey }
export type KeyInput = CreateApiKey
export type KeyEdit = z.input<typeof EditApiKey>

const PAGE_SIZE = 50

export const keysQuery = inPages<ApiKey>({ queryKey: ['keys'], path: '/v1/keys', limit: PAGE_SIZE })

/** The answer is the only one that contains the key itself. */
export const createKey = (input: KeyInput): Promise<NewApiKey> => post('/v1/keys', input)

export const editKey = async (id: string, edit: KeyEdit): Promise<void> => {
  await ask('PATCH', `/v1/keys/${id}`, { body: edit })
}

export const rotateKey = (id: string): Promise<NewApiKey> => post(`/v1/keys/${id}/rotate`, {})

export const revokeKey = async (id: string): Promise<void> => {
  await ask('DELETE', `/v1/keys/${id}`)
}
