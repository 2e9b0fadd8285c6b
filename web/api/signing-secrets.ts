/** Secrets that requests of the project are signed with. Their values are shown once, when they are made. */
import { queryOptions } from '@tanstack/react-query'
import type { NewSigningSecret, SigningSecret } from '../../src/api/resources/signing-secrets/schemas.ts'
import { ask, type ChangeOptions, get, post } from './client.ts'

export type { SigningSecret }

export const SIGNING_SECRETS_PATH = '/v1/signing-secrets'
/** Those that were rotated go by themselves when they expire. */
const REFRESH_MS = 10_000

export const signingSecretsQuery = queryOptions({
  queryKey: ['signing-secrets'],
  queryFn: async ({ signal }) =>
    (await get<{ items: readonly SigningSecret[] }>(SIGNING_SECRETS_PATH, signal)).items,
  refetchInterval: REFRESH_MS,
})

/** Without an origin it signs requests to all origins that have no secrets of their own. */
export interface SigningSecretInput {
  readonly origin?: string
}

export const createSigningSecret = (
  input: SigningSecretInput,
  options?: ChangeOptions,
): Promise<NewSigningSecret> => post(SIGNING_SECRETS_PATH, input, options)

export const rotateSigningSecret = (
  input: SigningSecretInput & { readonly keepOldFor?: string },
  options?: ChangeOptions,
): Promise<NewSigningSecret> => post(`${SIGNING_SECRETS_PATH}/rotate`, input, options)

export const revokeSigningSecret = async (id: string, options?: ChangeOptions): Promise<void> => {
  await ask('DELETE', `${SIGNING_SECRETS_PATH}/${id}`, options)
}
