import { Pool } from 'undici'

/** Origins that keep open connections; beyond it the one used longest ago gives its connections up. */
export const MAX_ORIGINS = 256

/** Connections to one origin at a time; further requests wait for one, inside their own time limit. */
export const MAX_CONNECTIONS_PER_ORIGIN = 256

/** A pool and what decides whether it is still worth keeping. */
interface Entry {
  readonly pool: Pool
  connections: number
  leases: number
}

/** The right to use an origin's pool until it is released. */
export interface PoolLease {
  readonly pool: Pool
  release(): void
}

/**
 * The connection pools, one an origin, in order of use. A pool goes when its last connection has closed
 * and nobody uses it, or when newer origins push it out; going is graceful, so that requests under way
 * finish either way.
 */
export class OriginPools {
  readonly #options: Pool.Options
  readonly #entries = new Map<string, Entry>()
  readonly #retired = new Set<Pool>()

  constructor(options: Pool.Options) {
    this.#options = { ...options, connections: MAX_CONNECTIONS_PER_ORIGIN }
  }

  lease(origin: string): PoolLease {
    const entry = this.#entries.get(origin) ?? this.#open(origin)
    // A Map keeps the order of insertion: re-inserting makes this the one used last.
    this.#entries.delete(origin)
    this.#entries.set(origin, entry)
    this.#evict()
    entry.leases++
    return {
      pool: entry.pool,
      release: () => {
        entry.leases--
        this.#retireIfUnused(origin, entry)
      },
    }
  }

  get size(): number {
    return this.#entries.size
  }

  /** Ends every connection at once, requests under way included. */
  async close(): Promise<void> {
    const pools = [...this.#retired, ...Array.from(this.#entries.values(), ({ pool }) => pool)]
    this.#entries.clear()
    await Promise.all(pools.map((pool) => pool.destroy()))
  }

  #open(origin: string): Entry {
    const entry: Entry = { pool: new Pool(origin, this.#options), connections: 0, leases: 0 }
    entry.pool.on('connect', () => {
      entry.connections++
    })
    entry.pool.on('disconnect', () => {
      entry.connections--
      this.#retireIfUnused(origin, entry)
    })
    return entry
  }

  #evict(): void {
    if (this.#entries.size <= MAX_ORIGINS) return
    const [oldest] = this.#entries
    if (oldest !== undefined) this.#retire(...oldest)
  }

  #retireIfUnused(origin: string, entry: Entry): void {
    if (entry.connections > 0 || entry.leases > 0) return
    if (this.#entries.get(origin) === entry) this.#retire(origin, entry)
  }

  #retire(origin: string, { pool }: Entry): void {
    this.#entries.delete(origin)
    this.#retired.add(pool)
    const forget = () => this.#retired.delete(pool)
    pool.close().then(forget, forget)
  }
}
