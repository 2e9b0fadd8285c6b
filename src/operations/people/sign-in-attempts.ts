/**
 * Limits attempts to sign in, across all nodes: ten at once, and one more every six seconds. Successful ones do not count. A
 * key cannot be guessed, but guessing should not cost a database query per attempt, so a network that has used up its attempts
 * is rejected from memory until it has one again.
 */
import { hash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { Refusal } from '../../core/errors.ts'
import { ratePolicy } from '../../core/limits/rate-policy.ts'
import { senderNetwork } from '../../core/values/sender-network.ts'
import type { Queryable } from '../../store/database/database.ts'
import { insertQuotas, leaseRequests } from '../../store/limits/request-quotas.ts'

const POLICY = ratePolicy('10/m')
const MAX_NETWORKS = 10_000

export class SignInAttempts {
  readonly #db: Queryable
  /** When a network without attempts left may try again, on the clock of this process. */
  readonly #closedUntil = new LRUCache<string, number>({ max: MAX_NETWORKS })

  constructor(db: Queryable) {
    this.#db = db
  }

  /** Counts an attempt before anything is looked up for it; throws if there were too many. */
  async begin(address: string | null): Promise<void> {
    const network = senderNetwork(address)
    const closedUntil = this.#closedUntil.get(network) ?? Number.NEGATIVE_INFINITY
    if (performance.now() < closedUntil) throw tooMany(closedUntil - performance.now())
    const { granted, opensInMs } = await this.#lease(network, { owed: 0, wanted: 1 })
    if (granted === 1) return
    this.#closedUntil.set(network, performance.now() + opensInMs)
    throw tooMany(opensInMs)
  }

  /** Takes back the attempt that was counted last. */
  async succeed(address: string | null): Promise<void> {
    await this.#lease(senderNetwork(address), { owed: -1, wanted: 0 })
  }

  async #lease(network: string, asked: { readonly owed: number; readonly wanted: number }) {
    const request = { id: idOf(network), ...POLICY, ...asked }
    const [known] = await this.#db.run(leaseRequests([request]))
    if (known) return known
    await this.#db.run(insertQuotas([request.id]))
    const [made] = await this.#db.run(leaseRequests([request]))
    // The quota was deleted between the two statements. Only full quotas are deleted, so the attempt is allowed.
    return made ?? { granted: asked.wanted, opensInMs: 0 }
  }
}

/** Quotas have ids; the id of a network's quota is its hash. */
const idOf = (network: string): string => hash('sha256', `sign-in ${network}`, 'hex').slice(0, 32)

function tooMany(waitMs: number): Refusal {
  const seconds = Math.max(1, Math.ceil(waitMs / 1_000))
  return new Refusal(
    'too_many_sign_ins',
    `Too many failed sign-ins from this address. Try again in ${seconds} s.`,
    { retryAfterSeconds: seconds },
  )
}
