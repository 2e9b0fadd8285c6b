import { LRUCache } from 'lru-cache'

/** Workers that may register from one address at once: a whole fleet comes back together after an outage. */
export const REGISTRATION_BURST = 1_000
/** Further ones a second. */
const PER_SECOND = 100
/** Addresses that are kept in mind; the one that was silent for longest is forgotten first. */
const MAX_ADDRESSES = 10_000

interface Account {
  readonly left: number
  readonly at: number
}

/** How fast workers register at this node, by address: a program that does so in a loop must not fill the tables. */
export class RegistrationRate {
  readonly #accounts = new LRUCache<string, Account>({ max: MAX_ADDRESSES })

  /** Takes in a registration; answers after how many seconds to try again when there were too many. */
  take(address: string, now = performance.now()): number | undefined {
    const { left, at } = this.#accounts.get(address) ?? { left: REGISTRATION_BURST, at: now }
    const grown = Math.min(REGISTRATION_BURST, left + ((now - at) / 1_000) * PER_SECOND)
    this.#accounts.set(address, { left: grown < 1 ? grown : grown - 1, at: now })
    return grown < 1 ? Math.ceil((1 - grown) / PER_SECOND) : undefined
  }
}
