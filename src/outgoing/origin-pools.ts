import { Client, type Dispatcher } from 'undici'

/** Default maximum of simultaneous connections to one origin; further requests wait for one, within their own timeout. */
export const MAX_CONNECTIONS_PER_ORIGIN = 256

/** Maximum number of origins without a request that keep connections; beyond it, the one unused longest closes its connections. */
export const MAX_IDLE_ORIGINS = 256

/** Maximum number of idle connections of all origins together; beyond it, connections are closed in the same order. */
export const MAX_IDLE_CONNECTIONS = 1_024

export interface OriginPoolsOptions extends Client.Options {
  readonly connectionsPerOrigin?: number | undefined
  readonly idleConnections?: number | undefined
}

/** Connections to an origin that use another connector and are not shared with all requests. */
export interface Separate {
  /** Identifies the requests that may use them. */
  readonly key: string
  readonly connect: NonNullable<Client.Options['connect']>
}

/** The connections to one origin. */
interface Origin {
  readonly name: string
  /** The name, followed by the key of the separate connections if there is one. */
  readonly key: string
  readonly options: Client.Options
  /** Idle connections, the one used last at the end: it is taken first, so that the others close when fewer are needed. */
  readonly idle: Connection[]
  /** Number of all connections, including those that are about to connect. */
  open: number
  leases: number
  /** Requests that wait for a connection. */
  readonly waiting: Set<PoolLease>
}

/** At most one connection: undici reconnects when it was closed. */
interface Connection {
  readonly client: Client
  readonly origin: Origin
}

/** The right to send one request to an origin, until it is released. */
export class PoolLease {
  readonly #pools: OriginPools
  readonly #origin: Origin
  #connection: Connection | undefined
  #send: ((connection: Connection) => void) | undefined

  constructor(pools: OriginPools, origin: Origin) {
    this.#pools = pools
    this.#origin = origin
  }

  /** May be called again for a request of which nothing was sent. */
  dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): void {
    this.#connection ??= this.#pools.connectionTo(this.#origin)
    if (this.#connection) {
      this.#connection.client.dispatch(options, handler)
      return
    }
    this.#send = ({ client }) => client.dispatch(options, handler)
    this.#origin.waiting.add(this)
  }

  /** For the pools only: gives the lease a connection that became free. */
  proceed(connection: Connection): void {
    this.#connection = connection
    this.#send?.(connection)
  }

  /** Releases the lease. Only a connection whose response was complete is reused. */
  release({ isReusable }: { isReusable: boolean }): void {
    this.#origin.waiting.delete(this)
    this.#pools.giveBack(this.#origin, this.#connection, isReusable)
  }
}

/**
 * The connections of each origin. Each request has a connection to itself. The number of connections in use is bounded by the
 * requests, however many origins hang; idle ones are bounded, and the origin that was unused longest closes its own first.
 */
export class OriginPools {
  readonly #options: Client.Options
  readonly #maxOpen: number
  readonly #maxIdle: number
  readonly #origins = new Map<string, Origin>()
  /** Origins without a request, the one unused longest first. */
  readonly #unused = new Set<Origin>()
  readonly #clients = new Set<Client>()
  #idleConnections = 0

  constructor({ connectionsPerOrigin, idleConnections, ...options }: OriginPoolsOptions) {
    this.#options = options
    this.#maxOpen = connectionsPerOrigin ?? MAX_CONNECTIONS_PER_ORIGIN
    this.#maxIdle = idleConnections ?? MAX_IDLE_CONNECTIONS
  }

  lease(name: string, separate?: Separate): PoolLease {
    const key = separate === undefined ? name : `${name} ${separate.key}`
    let origin = this.#origins.get(key)
    if (origin === undefined) {
      const options = separate === undefined ? this.#options : { ...this.#options, connect: separate.connect }
      origin = { name, key, options, idle: [], open: 0, leases: 0, waiting: new Set() }
      this.#origins.set(key, origin)
    }
    if (origin.leases++ === 0) this.#unused.delete(origin)
    return new PoolLease(this, origin)
  }

  /** Number of origins that are connected or about to be. */
  get size(): number {
    return this.#origins.size
  }

  /** Number of connections that are kept without a request. */
  get idleConnections(): number {
    return this.#idleConnections
  }

  /** Closes every connection at once, including those with a request in progress. */
  async close(): Promise<void> {
    this.#origins.clear()
    this.#unused.clear()
    await Promise.all(Array.from(this.#clients, (client) => client.destroy()))
  }

  /** For leases only: returns a connection; undefined if the maximum is reached. */
  connectionTo(origin: Origin): Connection | undefined {
    const idle = origin.idle.pop()
    if (idle !== undefined) this.#idleConnections--
    return idle ?? (origin.open < this.#maxOpen ? this.#open(origin) : undefined)
  }

  /** For leases only: takes a connection back. */
  giveBack(origin: Origin, connection: Connection | undefined, isReusable: boolean): void {
    origin.leases--
    if (connection !== undefined) {
      if (isReusable) {
        origin.idle.push(connection)
        this.#idleConnections++
      } else this.#giveUp(connection)
      // Deferred, because undici does not expect another request before it has finished with this one.
      if (origin.waiting.size > 0) queueMicrotask(() => this.#serve(origin))
    }
    if (origin.leases === 0) this.#rest(origin)
    if (this.#idleConnections > this.#maxIdle) this.#shrink(origin)
  }

  #serve(origin: Origin): void {
    const [lease] = origin.waiting
    const connection = lease && this.connectionTo(origin)
    if (!connection) return
    origin.waiting.delete(lease)
    lease.proceed(connection)
  }

  #open(origin: Origin): Connection {
    const client = new Client(origin.name, origin.options)
    const connection: Connection = { client, origin }
    origin.open++
    this.#clients.add(client)
    const onGone = () => this.#forgetIdle(connection)
    client.on('disconnect', onGone)
    client.on('connectionError', onGone)
    return connection
  }

  /** Removes a connection that ended while it was idle. */
  #forgetIdle(connection: Connection): void {
    const { origin } = connection
    const index = origin.idle.indexOf(connection)
    if (index < 0) return
    origin.idle.splice(index, 1)
    this.#idleConnections--
    this.#giveUp(connection)
    if (origin.leases === 0) this.#rest(origin)
  }

  /** Closes a connection; requests in progress finish. */
  #giveUp({ client, origin }: Connection): void {
    origin.open--
    const forget = () => this.#clients.delete(client)
    client.close().then(forget, forget)
  }

  /** Handles an origin without a request; if it has no connections either, it is removed. */
  #rest(origin: Origin): void {
    if (origin.idle.length === 0) {
      this.#unused.delete(origin)
      this.#origins.delete(origin.key)
      return
    }
    this.#unused.add(origin)
    const [longest] = this.#unused
    if (this.#unused.size > MAX_IDLE_ORIGINS && longest) {
      while (longest.idle.length > 0) this.#giveUpOldest(longest)
      this.#rest(longest)
    }
  }

  /** Closes excess idle connections. If every origin has a request, the excess comes from the origin that was used last. */
  #shrink(last: Origin): void {
    while (this.#idleConnections > this.#maxIdle) {
      const [longest = last] = this.#unused
      if (longest.idle.length === 0) return
      this.#giveUpOldest(longest)
      if (longest.leases === 0 && longest.idle.length === 0) this.#rest(longest)
    }
  }

  #giveUpOldest(origin: Origin): void {
    const connection = origin.idle.shift()
    if (connection === undefined) return
    this.#idleConnections--
    this.#giveUp(connection)
  }
}
