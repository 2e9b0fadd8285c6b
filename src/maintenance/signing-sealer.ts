import { sealAll } from '../operations/secrets/rotate-key.ts'
import { LoopService } from '../runtime/loop-service.ts'
import type { Vault } from '../secrets/vault.ts'
import type { Database } from '../store/database/database.ts'
import { closeForSealing, signingSecretsStored } from '../store/secrets/keys.ts'
import type { Logger } from '../telemetry/logger.ts'

export interface SigningSealerOptions {
  readonly db: Database
  readonly vault: Vault
  readonly log: Logger
}

const EVERY_MS = 10_000

/**
 * Encrypts signing secrets that were stored before there were keys, once every live node can read encrypted ones. From then on,
 * builds that do not support secrets cannot use the database. Several nodes may do this at once: a row is replaced only if it
 * is unchanged since it was read.
 */
export class SigningSealer extends LoopService {
  readonly #options: SigningSealerOptions

  constructor(options: SigningSealerOptions) {
    super({ name: 'encrypt signing secrets', everyMs: EVERY_MS, log: options.log })
    this.#options = options
  }

  async runOnce(): Promise<undefined> {
    const { db, vault, log } = this.#options
    const { ring } = vault
    if (!vault.isReady || ring === null) return undefined
    const [stored] = await db.run(signingSecretsStored())
    if (!stored?.isPlain) return undefined
    const [closed] = await db.run(closeForSealing())
    if (!closed) return undefined
    const { encrypted } = await sealAll(db, ring, { plainOnly: true })
    if (encrypted > 0) log.info({ encrypted }, 'signing secrets encrypted')
    return undefined
  }
}
