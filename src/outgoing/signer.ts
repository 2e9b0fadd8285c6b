/**
 * Signs outgoing requests with the valid secrets bound to their origin, or else with those of their project. If there are no
 * secrets, the cost is a lookup in an empty map.
 */
import {
  parseSecret,
  type SignedMessage,
  type SigningKey,
  signingKey,
  signMessage,
} from '../core/action/webhook-signature.ts'
import type { Clock } from '../runtime/clock.ts'
import { LoopService } from '../runtime/loop-service.ts'
import { openSigning, openSubscription, type StoredSecret } from '../secrets/signing.ts'
import type { Vault } from '../secrets/vault.ts'
import type { Queryable } from '../store/database/database.ts'
import { type LiveSecret, liveSecrets } from '../store/projects/signing-secrets.ts'
import type { Logger } from '../telemetry/logger.ts'

/** The project that sends a request, and the origin it goes to. */
export interface Recipient {
  readonly projectId: string
  /** As browsers serialise it. */
  readonly origin: string
}

/** Signs messages on behalf of projects. */
export interface Signer {
  /** Returns the value of `webhook-signature`; undefined if there is no valid secret. */
  sign(to: Recipient, message: SignedMessage): string | undefined
}

/** A subscription with its secret, as it is stored. */
export interface SubscriptionSecret extends StoredSecret<string> {
  readonly id: string
  readonly projectId: string
}

function keysIn(secret: string): readonly SigningKey[] {
  const parsed = parseSecret(secret)
  return parsed.ok ? [signingKey(parsed.secret)] : []
}

/** Looks up the keys of origins, for code that also signs with its own keys. */
export interface EndpointKeys {
  /** Returns the key of a subscription itself. Throws if this node cannot decrypt it. */
  ofSubscription(subscription: SubscriptionSecret): readonly SigningKey[]
  /** Returns the valid keys that are bound to the origin. */
  boundTo(recipient: Recipient): readonly SigningKey[]
}

const NO_KEYS: readonly SigningKey[] = []

/** For requests that are not signed. */
export const UNSIGNED: Signer & EndpointKeys = {
  sign: () => undefined,
  boundTo: () => NO_KEYS,
  ofSubscription: ({ secret }) => keysIn(secret),
}

export interface SecretSignerOptions {
  readonly db: Queryable
  readonly clock: Clock
  readonly log: Logger
  /** Decrypts stored secrets. */
  readonly vault: Vault
}

/** Polling interval: within this time every worker uses a new secret and stops using a revoked one. */
export const READ_SECRETS_EVERY_MS = 5_000

interface Key {
  /** Null if this node cannot decrypt it. */
  readonly key: SigningKey | null
  readonly expiresAt: number | null
}

/** The keys of a project, by origin; null for those valid for all origins. */
type KeysByOrigin = Map<string | null, Key[]>

/** A signer that follows the secrets in the database. `start` resolves after the first read. */
export class SecretSigner extends LoopService implements Signer, EndpointKeys {
  readonly #options: SecretSignerOptions
  #keys: ReadonlyMap<string, KeysByOrigin> = new Map()

  constructor(options: SecretSignerOptions) {
    super({ name: 'signing secrets', everyMs: READ_SECRETS_EVERY_MS, log: options.log })
    this.#options = options
  }

  override async start(): Promise<void> {
    await this.runOnce()
    super.start()
  }

  /** Rereads the secrets; tests call this instead of waiting. */
  async runOnce(): Promise<undefined> {
    const keys = new Map<string, KeysByOrigin>()
    for (const stored of await this.#options.db.run(liveSecrets())) {
      const { projectId, origin, expiresAt } = stored
      const ofProject = keys.get(projectId) ?? new Map<string | null, Key[]>()
      keys.set(projectId, ofProject)
      const known = ofProject.get(origin) ?? []
      ofProject.set(origin, [...known, { key: this.#read(stored), expiresAt }])
    }
    this.#keys = keys
  }

  #read(stored: LiveSecret): SigningKey | null {
    try {
      return signingKey(openSigning(this.#options.vault, stored))
    } catch (error) {
      this.#options.log.error({ err: error, secret: stored.id }, 'a signing secret cannot be read')
      return null
    }
  }

  sign(to: Recipient, message: SignedMessage): string | undefined {
    if (this.#keys.size === 0) return undefined
    const bound = this.boundTo(to)
    const keys = bound.length > 0 ? bound : this.#inUse(to.projectId, null)
    return keys.length === 0 ? undefined : signMessage(message, keys)
  }

  ofSubscription(subscription: SubscriptionSecret): readonly SigningKey[] {
    return keysIn(openSubscription(this.#options.vault, subscription))
  }

  boundTo({ projectId, origin }: Recipient): readonly SigningKey[] {
    return this.#inUse(projectId, origin)
  }

  #inUse(projectId: string, origin: string | null): readonly SigningKey[] {
    const keys = this.#keys.get(projectId)?.get(origin)
    if (keys === undefined) return NO_KEYS
    const now = this.#options.clock.now()
    return keys
      .filter(({ expiresAt }) => expiresAt === null || expiresAt > now)
      .map(({ key }) => {
        if (key === null)
          throw new Error('The request was not sent: this node cannot read the secret to sign it with.')
        return key
      })
  }
}
