import { type Dispatcher, Pool } from 'undici'

/** Connections to one origin at a time, unless told otherwise; further requests wait for one, inside their own time limit. */
export const MAX_CONNECTIONS_PER_ORIGIN = 256

/** Origins without a request that keep connections; beyond it the one unused longest gives its connections up. */
export const MAX_IDLE_ORIGINS = 256

/** Connections without a request, of all origins together; beyond it they are given up in the same order. */
export const MAX_IDLE_CONNECTIONS = 1_024

export interface OriginPoolsOptions extends Omit<Pool.Options, 'connections'> {
  readonly connectionsPerOrigin?: number | undefined
  readonly idleConnections?: number | undefined
}

/** A pool and what decides whether it is still worth keeping. */
interface Entry {
  readonly origin: string
  readonly pool: Pool
  connections: number
  leases: number
  isRetired: boolean
}

/** The right to send one request to an origin, until it is released. */
export class PoolLease {
  readonly #pools: OriginPools
  #entry: Entry

  constructor(pools: OriginPools, entry: Entry) {
    this.#pools = pools
    this.#entry = entry
  }

  /** Called again for a request of which nothing was sent: meanwhile its pool may have gone. */
  dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): void {
    if (this.#entry.isRetired) {
      this.#pools.giveBack(this.#entry)
      this.#entry = this.#pools.take(this.#entry.origin)
    }
    this.#entry.pool.dispatch(options, handler)
  }

  release(): void {
    this.#pools.giveBack(this.#entry)
  }
}

/**
 * The connection pools, one an origin. Those with requests are bounded by the requests, however many origins hang. Those
 * without are kept in the order in which they were last used, within bounds. A pool goes gracefully: requests under way
 * finish, and later ones get a new pool.
 */
export class OriginPools {
  readonly #options: Pool.Options
  readonly #maxIdleConnections: number
  readonly #entries = new Map<string, Entry>()
  /** Those without a request, the one unused longest first. */
  readonly #unused = new Set<Entry>()
  readonly #retired = new Set<Pool>()
  #idleConnections = 0

  constructor({ connectionsPerOrigin, idleConnections, ...options }: OriginPoolsOptions) {
    this.#options = { ...options, connections: connectionsPerOrigin ?? MAX_CONNECTIONS_PER_ORIGIN }
    this.#maxIdleConnections = idleConnections ?? MAX_IDLE_CONNECTIONS
  }

  lease(origin: string): PoolLease {
    return new PoolLease(this, this.take(origin))
  }

  /** Origins that are connected, or about to be. */
  get size(): number {
    return this.#entries.size
  }

  /** Connections that are kept although nobody uses them. */
  get idleConnections(): number {
    return this.#idleConnections
  }

  /** Ends every connection at once, requests under way included. */
  async close(): Promise<void> {
    const pools = [...this.#retired, ...Array.from(this.#entries.values(), ({ pool }) => pool)]
    this.#entries.clear()
    this.#unused.clear()
    await Promise.all(pools.map((pool) => pool.destroy()))
  }

  /** For leases alone. */
  take(origin: string): Entry {
    const entry = this.#entries.get(origin) ?? this.#open(origin)
    this.#unused.delete(entry)
    this.#count(entry, { leases: 1 })
    return entry
  }

  /** For leases alone. */
  giveBack(entry: Entry): void {
    this.#count(entry, { leases: -1 })
    if (entry.isRetired || entry.leases > 0) return
    if (entry.connections === 0) this.#retire(entry)
    else this.#unused.add(entry)
    this.#shrink(entry)
  }

  #open(origin: string): Entry {
    const pool = new Pool(origin, this.#options)
    const entry: Entry = { origin, pool, connections: 0, leases: 0, isRetired: false }
    this.#entries.set(origin, entry)
    pool.on('connect', () => this.#count(entry, { connections: 1 }))
    pool.on('disconnect', () => {
      this.#count(entry, { connections: -1 })
      if (entry.connections === 0 && entry.leases === 0) this.#retire(entry)
    })
    return entry
  }

  #count(entry: Entry, { connections = 0, leases = 0 }): void {
    const before = idleOf(entry)
    entry.connections += connections
    entry.leases += leases
    this.#idleConnections += idleOf(entry) - before
  }

  /** Where no pool is without a request, the connections that became idle are those of the pool that was used last. */
  #shrink(last: Entry): void {
    while (this.#unused.size > MAX_IDLE_ORIGINS || this.#idleConnections > this.#maxIdleConnections) {
      const [longest = last] = this.#unused
      if (longest.isRetired) return
      this.#retire(longest)
    }
  }

  #retire(entry: Entry): void {
    if (entry.isRetired) return
    this.#idleConnections -= idleOf(entry)
    entry.isRetired = true
    this.#unused.delete(entry)
    this.#entries.delete(entry.origin)
    this.#retired.add(entry.pool)
    const forget = () => this.#retired.delete(entry.pool)
    entry.pool.close().then(forget, forget)
  }
}

/** A retired pool closes its connections by itself. */
const idleOf = ({ connections, leases, isRetired }: Entry) =>
  isRetired ? 0 : Math.max(0, connections - leases)
