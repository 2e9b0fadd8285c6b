/** Signing secrets as stored: encrypted once every node can read encrypted values. */
import type { Database } from '../store/database/database.ts'
import { closeForSealing } from '../store/secrets/keys.ts'
import { signingBinding, subscriptionBinding, type Vault } from './vault.ts'

/** A secret as stored. */
export interface StoredSecret<T> {
  readonly secret: T
  readonly keyId: string | null
}

/** The object that a secret belongs to. */
interface Owner {
  readonly id: string
  readonly projectId: string
}

/** Encrypts a secret that signs requests; returns it plain as long as a node could not read it encrypted. */
export async function sealSigning(
  vault: Vault,
  db: Database,
  { id, projectId }: Owner,
  secret: Buffer,
): Promise<StoredSecret<Buffer>> {
  const ring = await sealingRing(vault, db)
  if (ring === null) return { secret, keyId: null }
  const { sealed, keyId } = ring.seal(secret, signingBinding(projectId, id))
  return { secret: sealed, keyId }
}

/** The same for the secret of a subscription, which is text. */
export async function sealSubscription(
  vault: Vault,
  db: Database,
  { id, projectId }: Owner,
  secret: string,
): Promise<StoredSecret<string>> {
  const ring = await sealingRing(vault, db)
  if (ring === null) return { secret, keyId: null }
  const { sealed, keyId } = ring.seal(Buffer.from(secret), subscriptionBinding(projectId, id))
  return { secret: sealed.toString('base64'), keyId }
}

async function sealingRing(vault: Vault, db: Database) {
  if (!vault.isReady) return null
  const [closed] = await db.run(closeForSealing())
  return closed ? vault.ring : null
}

/** Decrypts a secret; throws if this node cannot read it, so that no request is sent unsigned. */
export function openSigning(vault: Vault, stored: Owner & StoredSecret<Buffer>): Buffer {
  const { id, projectId, secret, keyId } = stored
  if (keyId === null) return secret
  const opened = vault.ring?.open({ keyId, sealed: secret }, signingBinding(projectId, id))
  if (opened?.ok) return opened.value
  throw unreadable()
}

export function openSubscription(vault: Vault, stored: Owner & StoredSecret<string>): string {
  const { id, projectId, secret, keyId } = stored
  if (keyId === null) return secret
  const sealed = Buffer.from(secret, 'base64')
  const opened = vault.ring?.open({ keyId, sealed }, subscriptionBinding(projectId, id))
  if (opened?.ok) return opened.value.toString()
  throw unreadable()
}

const unreadable = () =>
  new Error('This node cannot read the signing secret: it lacks the secrets key, or the value is damaged.')
