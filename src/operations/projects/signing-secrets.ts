import { formatSecret, makeSecret } from '../../core/action/webhook-signature.ts'
import { Refusal } from '../../core/errors.ts'
import { uuidv7 } from '../../core/ids.ts'
import { sealSigning } from '../../secrets/signing.ts'
import { lockProject } from '../../store/projects/projects.ts'
import {
  addEndpointSecret,
  addSigningSecret,
  listSigningSecrets,
  MAX_LIVE_SECRETS,
  MAX_ORIGINS_WITH_SECRETS,
  removeSigningSecret,
  type SigningSecretRow,
} from '../../store/projects/signing-secrets.ts'
import { noteKey } from '../../store/secrets/keys.ts'
import { recordChange } from '../audit-log/record-change.ts'
import type { Context } from '../context.ts'

/** A secret that was just created, for the only response that shows it. */
export interface MadeSecret extends SigningSecretRow {
  readonly secret: string
}

/** Returns the secrets in use; with an origin, only those for this origin. */
export function allSigningSecrets(
  { db, projectId }: Context,
  origin: string | null,
): Promise<SigningSecretRow[]> {
  return db.run(listSigningSecrets(projectId, origin))
}

/** The secret to create. */
export interface SecretToMake {
  /** The origin of the requests to sign with it; null for all origins without secrets of their own. */
  readonly origin: string | null
  /** After how long the other secrets of the same origin expire; null leaves them unchanged. */
  readonly othersExpireInMs: number | null
}

/** Creates a secret beside the one in use or, with `othersExpireInMs`, to replace it. */
export async function makeSigningSecret(
  context: Context,
  { origin, othersExpireInMs }: SecretToMake,
): Promise<MadeSecret> {
  const { db, projectId, vault } = context
  const secret = makeSecret()
  const id = uuidv7()
  const stored = await sealSigning(vault, db, { id, projectId }, secret)
  const toAdd = { id, projectId, ...stored, othersExpireInMs }
  const [made] = await db.transaction(async (tx) => {
    await tx.run(lockProject(projectId))
    if (stored.keyId !== null) await tx.run(noteKey(stored.keyId))
    const added = await tx.run(
      origin === null ? addSigningSecret(toAdd) : addEndpointSecret({ ...toAdd, origin }),
    )
    if (added.length > 0)
      await recordChange(tx, context, {
        action: 'signing_secret.create',
        subject: { kind: 'signing_secret', id: toAdd.id, name: origin },
        after: { origin, othersExpireInMs },
      })
    return added
  })
  if (made) return { ...made, origin, expiresAt: null, secret: formatSecret(secret) }
  throw new Refusal(
    'too_many_secrets',
    whyNotMade(origin, await db.run(listSigningSecrets(projectId, origin))),
  )
}

/** Returns the error message for whichever of the two limits was reached. */
function whyNotMade(origin: string | null, live: readonly SigningSecretRow[]): string {
  if (origin !== null && live.length < MAX_LIVE_SECRETS)
    return `The project has signing secrets for ${MAX_ORIGINS_WITH_SECRETS} origins, which is the limit. Revoke the secrets of an origin that is no longer called.`
  const ids = live
    .filter((secret) => secret.origin === origin)
    .map(({ id }) => id)
    .join(' and ')
  const where = origin === null ? '' : ` for ${origin}`
  return `${MAX_LIVE_SECRETS} signing secrets are already in use${where}: ${ids}. Revoke one, or wait until it expires.`
}

export async function revokeSigningSecret(context: Context, id: string): Promise<void> {
  const { db, projectId } = context
  await db.transaction(async (tx) => {
    const [removed] = await tx.run(removeSigningSecret(projectId, id))
    if (!removed) throw new Refusal('not_found', `Signing secret ${id} does not exist.`)
    await recordChange(tx, context, {
      action: 'signing_secret.revoke',
      subject: { kind: 'signing_secret', id },
    })
  })
}
