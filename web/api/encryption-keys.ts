/** The keys that secrets of all projects are encrypted with: fingerprints, never a key. */
import { queryOptions } from '@tanstack/react-query'
import type { EncryptionKeys, KeyRotation } from '../../src/api/resources/secrets/schemas.ts'
import { type ChangeOptions, get, post } from './client.ts'

export type { EncryptionKeys, KeyRotation }

const PATH = '/v1/secrets-key'
export const ROTATE_PATH = `${PATH}/rotate`
/** A node notices another file of keys after two seconds. */
const REFRESH_MS = 5_000

export const encryptionKeysQuery = queryOptions({
  queryKey: ['encryption-keys'],
  queryFn: ({ signal }) => get<EncryptionKeys>(PATH, signal),
  refetchInterval: REFRESH_MS,
})

export const rotateEncryptionKey = (options?: ChangeOptions): Promise<KeyRotation> =>
  post(ROTATE_PATH, undefined, options)
