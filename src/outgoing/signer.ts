/**
 * Signs outgoing requests with the secrets in use that are bound to their origin, or else with those of their project. Where
 * there are no secrets it costs a look at an empty map.
 */
import {
  type SignedMessage,
  type SigningKey,
  signingKey,
  signMessage,
} from '../core/action/webhook-signature.ts'
import type { Clock } from '../runtime/clock.ts'
import { LoopService } from '../runtime/loop-service.ts'
import type { Queryable } from '../store/database/database.ts'
import { liveSecrets } from '../store/projects/signing-secrets.ts'
import type { Logger } from '../telemetry/logger.ts'

/** In whose name a request is sent, and where. */
export interface Recipient {
  readonly projectId: string
  /** As browsers write it. */
  readonly origin: string
}

/** Signs messages in the name of projects. */
export interface Signer {
  /** The value of `webhook-signature`; undefined where no secret is in use. */
  sign(to: Recipient, message: SignedMessage): string | undefined
}

/** Knows the keys of origins, for those who sign with keys of their own too. */
export interface EndpointKeys {
  /** The keys that are bound to the origin and in use. */
  boundTo(recipient: Recipient): readonly SigningKey[]
}

const NO_KEYS: readonly SigningKey[] = []

/** For what is not signed. */
export const UNSIGNED: Signer & EndpointKeys = { sign: () => undefined, boundTo: () => NO_KEYS }

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

/** The keys of a project, by origin; those for all origins have none. */
type KeysByOrigin = Map<string | null, Key[]>

/** A signer that follows the secrets in the database. It has read them once before its start is over. */
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

  /** Reads the secrets anew; tests call this instead of waiting. */
  async runOnce(): Promise<undefined> {
    const keys = new Map<string, KeysByOrigin>()
    for (const { projectId, origin, secret, expiresAt } of await this.#options.db.run(liveSecrets())) {
      const ofProject = keys.get(projectId) ?? new Map<string | null, Key[]>()
      keys.set(projectId, ofProject)
      const known = ofProject.get(origin) ?? []
      ofProject.set(origin, [...known, { key: signingKey(secret), expiresAt }])
    }
    this.#keys = keys
  }

  sign(to: Recipient, message: SignedMessage): string | undefined {
    if (this.#keys.size === 0) return undefined
    const bound = this.boundTo(to)
    const keys = bound.length > 0 ? bound : this.#inUse(to.projectId, null)
    return keys.length === 0 ? undefined : signMessage(message, keys)
  }

  boundTo({ projectId, origin }: Recipient): readonly SigningKey[] {
    return this.#inUse(projectId, origin)
  }

  #inUse(projectId: string, origin: string | null): readonly SigningKey[] {
    const keys = this.#keys.get(projectId)?.get(origin)
    if (keys === undefined) return NO_KEYS
    const now = this.#options.clock.now()
    return keys.filter(({ expiresAt }) => expiresAt === null || expiresAt > now).map(({ key }) => key)
  }
}
