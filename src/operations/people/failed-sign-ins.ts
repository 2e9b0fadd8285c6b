/** How often somebody may try keys. A key cannot be guessed; but whoever tries many should not cost us a query each. */
import { LRUCache } from 'lru-cache'
import { senderNetwork } from '../../core/values/sender-network.ts'

const MAX_FAILURES = 10
const WINDOW_MS = 60_000
const MAX_ADDRESSES = 10_000

interface Failures {
  readonly since: number
  readonly count: number
}

export class FailedSignIns {
  readonly #byNetwork = new LRUCache<string, Failures>({ max: MAX_ADDRESSES })

  /** Seconds until this address may try again; 0 when it may now. */
  waitSeconds(address: string | null, now: number): number {
    const failures = this.#byNetwork.get(senderNetwork(address))
    if (!failures || failures.count < MAX_FAILURES) return 0
    return Math.max(0, Math.ceil((failures.since + WINDOW_MS - now) / 1_000))
  }

  note(address: string | null, now: number): void {
    const network = senderNetwork(address)
    const known = this.#byNetwork.get(network)
    const isCurrent = known !== undefined && now - known.since < WINDOW_MS
    this.#byNetwork.set(network, isCurrent ? { ...known, count: known.count + 1 } : { since: now, count: 1 })
  }
}
