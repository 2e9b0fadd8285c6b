import { LRUCache } from 'lru-cache'

/** Number of workers that may register from one address at once: a whole fleet reconnects together after an outage. */
export const REGISTRATION_BURST = 1_000
/** Further registrations per second. */
const PER_SECOND = 100
/** Maximum number of addresses kept; the one unused longest is removed first. */
const MAX_ADDRESSES = 10_000

interface Account {
  readonly left: number
  readonly at: number
}

/**
 * Limits the rate at which workers register at this node, by address, so that a program that registers in a loop does not fill
 * the tables.
 */
export class RegistrationRate {
  readonly #accounts = new LRUCache<string, Account>({ max: MAX_ADDRESSES })

  /** Counts a registration; returns after how many seconds to try again if there were too many, otherwise undefined. */
  take(address: string, now = performance.now()): number | undefined {
    const { left, at } = this.#accounts.get(address) ?? { left: REGISTRATION_BURST, at: now }
    const grown = Math.min(REGISTRATION_BURST, left + ((now - at) / 1_000) * PER_SECOND)
    this.#accounts.set(address, { left: grown < 1 ? grown : grown - 1, at: now })
    return grown < 1 ? Math.ceil((1 - grown) / PER_SECOND) : undefined
  }
}
