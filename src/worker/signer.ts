/**
 * Signs outgoing requests with each secret of their project that is in use. Where there are no secrets it costs a look
 * at an empty map.
 */
import { type SignedMessage, type SigningKey, signingKey, signMessage } from '../core/webhook-signature.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Logger } from '../runtime/logger.ts'
import { LoopService } from '../runtime/loop-service.ts'
import type { Queryable } from '../store/database.ts'
import { liveSecrets } from '../store/signing-secrets.ts'

/** Signs messages in the name of projects. */
export interface Signer {
  /** The value of `webhook-signature`; undefined for a project without secrets. */
  sign(projectId: string, message: SignedMessage): string | undefined
}

/** For what is not signed. */
export const UNSIGNED: Signer = { sign: () => undefined }

export interface SecretSignerOptions {
  readonly db: Queryable
  readonly clock: Clock
  readonly log: Logger
}

/** How often secrets are read: by then every worker knows a new one, and has forgotten one that was revoked. */
export const READ_SECRETS_EVERY_MS = 5_000

interface Key {
  readonly key: SigningKey
  readonly expiresAt: number | null
}

/** A signer that follows the secrets in the database. It has read them once before its start is over. */
export class SecretSigner extends LoopService implements Signer {
  readonly #options: SecretSignerOptions
  #keys: ReadonlyMap<string, readonly Key[]> = new Map()

  constructor(options: SecretSignerOptions) {
    super({ name: 'signing secrets', everyMs: READ_SECRETS_EVERY_MS, log: options.log })
    this.#options = options
  }

  override async start(): Promise<void> {
    await this.runOnce()
    super.start()
  }

  /** Reads the secrets anew; tests call this instead of waiting. */
  async runOnce(): Promise<undefined> {
    const keys = new Map<string, Key[]>()
    for (const { projectId, secret, expiresAt } of await this.#options.db.run(liveSecrets())) {
      const known = keys.get(projectId) ?? []
      keys.set(projectId, [...known, { key: signingKey(secret), expiresAt }])
    }
    this.#keys = keys
  }

  sign(projectId: string, message: SignedMessage): string | undefined {
    if (this.#keys.size === 0) return undefined
    const now = this.#options.clock.now()
    const inUse = this.#keys.get(projectId)?.filter(({ expiresAt }) => expiresAt === null || expiresAt > now)
    if (inUse === undefined || inUse.length === 0) return undefined
    return signMessage(
      message,
      inUse.map(({ key }) => key),
    )
  }
}
