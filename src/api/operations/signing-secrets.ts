import { Refusal } from '../../core/errors.ts'
import { uuidv7 } from '../../core/ids.ts'
import { formatSecret, makeSecret } from '../../core/webhook-signature.ts'
import {
  addSigningSecret,
  listSigningSecrets,
  lockSecretsOf,
  MAX_LIVE_SECRETS,
  removeSigningSecret,
  type SigningSecretRow,
} from '../../store/signing-secrets.ts'
import type { Context } from './context.ts'

/** A secret that was just made, for the one answer that shows it. */
export interface MadeSecret extends SigningSecretRow {
  readonly secret: string
}

export function allSigningSecrets({ db, projectId }: Context): Promise<SigningSecretRow[]> {
  return db.run(listSigningSecrets(projectId))
}

/** Makes a secret beside the one in use or, with `othersExpireInMs`, in its place. */
export async function makeSigningSecret(
  { db, projectId }: Context,
  { othersExpireInMs }: { othersExpireInMs: number | null },
): Promise<MadeSecret> {
  const secret = makeSecret()
  const [made] = await db.transaction(async (tx) => {
    await tx.run(lockSecretsOf(projectId))
    return tx.run(addSigningSecret({ id: uuidv7(), projectId, secret, othersExpireInMs }))
  })
  if (!made)
    throw new Refusal(
      'too_many_secrets',
      `${MAX_LIVE_SECRETS} signing secrets are in use already. Revoke one with DELETE /v1/signing-secrets/{id}, or wait until it expires.`,
    )
  return { ...made, expiresAt: null, secret: formatSecret(secret) }
}

export async function revokeSigningSecret({ db, projectId }: Context, id: string): Promise<void> {
  const [removed] = await db.run(removeSigningSecret(projectId, id))
  if (!removed) throw new Refusal('not_found', `There is no signing secret ${id}.`)
}
