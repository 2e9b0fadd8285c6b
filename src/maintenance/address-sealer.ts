import { Refusal } from '../core/errors.ts'
import { contextOf, type Facilities, systemCall } from '../operations/context.ts'
import { canKeepTokens } from '../operations/secrets/slack-tokens.ts'
import { sealAddresses } from '../operations/tasks/seal-addresses.ts'
import { LoopService } from '../runtime/loop-service.ts'
import { tasksWithPlainAddress } from '../store/tasks/plain-addresses.ts'
import type { Logger } from '../telemetry/logger.ts'

const EVERY_MS = 10_000
/** While there is more to do, the next batch follows after this time. */
const AGAIN_MS = 10
const BATCH = 100
const BEFORE_ALL = '00000000-0000-0000-0000-000000000000'

/**
 * Moves the tokens of Slack URLs that are stored in clear into secrets. They were stored by an earlier release, or while a node
 * had no key. It begins once every live node has the key. Each task is its own transaction, so it can be interrupted at
 * any point, and several nodes may work at once. A task that cannot be changed does not delay the others.
 */
export class AddressSealer extends LoopService {
  readonly #facilities: Facilities
  readonly #log: Logger
  /** Projects without room for more secrets that have been logged. */
  readonly #full = new Set<string>()
  #after = BEFORE_ALL

  constructor({ facilities, log }: { facilities: Facilities; log: Logger }) {
    super({ name: 'encrypt Slack addresses', everyMs: EVERY_MS, log })
    this.#facilities = facilities
    this.#log = log
  }

  /** Handles one batch; tests call this instead of waiting for the timer. */
  async runOnce(): Promise<number | undefined> {
    const { db, vault } = this.#facilities
    if (!vault.isReady) return undefined
    const found = await db.run(tasksWithPlainAddress({ after: this.#after, limit: BATCH }))
    if (found.length > 0 && !(await canKeepTokens(this.#facilities))) return undefined
    let versions = 0
    for (const { taskId, projectId } of found) {
      this.#after = taskId
      versions += await this.#seal(taskId, projectId)
    }
    if (versions > 0) this.#log.info({ versions }, 'Slack addresses encrypted')
    if (found.length === BATCH) return AGAIN_MS
    this.#after = BEFORE_ALL
    return undefined
  }

  async #seal(taskId: string, projectId: string): Promise<number> {
    try {
      return await sealAddresses(contextOf(this.#facilities, systemCall('address-sealer', projectId)), taskId)
    } catch (error) {
      if (!(error instanceof Refusal) || error.code !== 'too_many_stored_secrets') throw error
      if (!this.#full.has(projectId))
        this.#log.warn({ projectId, reason: error.message }, 'Slack addresses remain unencrypted')
      this.#full.add(projectId)
      return 0
    }
  }
}
