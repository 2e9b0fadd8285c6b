/**
 * The database connections of a node, in pools that are separated so that none waits for another. Requests may take as long as
 * lists take, and any number of clients may send them; so work with deadlines does not share their pool.
 */
import type { Role } from '../runtime/config/choices.ts'
import type { Config } from '../runtime/config/settings.ts'
import { Database } from '../store/database/database.ts'

/** For requests of users through the API: lists, searches, changes. */
export const REQUEST_CONNECTIONS = 10
/** Maximum time that a request may hold a connection. */
export const REQUEST_TIMEOUT_MS = 15_000
/** For firing, claiming, writing outcomes, shard leases, and requests of remote workers. */
const ENGINE_CONNECTIONS = 8
/**
 * The share of them that the role `api` uses to find out who sends a request. Anyone can make it look up keys that do not exist,
 * so the engine has none of these connections.
 */
const CALLERS_SHARE = 0.25
/** An engine statement that takes longer than this is better retried. */
const ENGINE_TIMEOUT_MS = 10_000
/** For subscriptions, redrives and archived projects, of which a node processes many at once. */
const DELIVERY_CONNECTIONS = 3
/** For reading the database's clock only: a reading that waits behind another statement would be less accurate. */
const CLOCK_CONNECTIONS = 1
/** A reading of the clock that takes longer than this is useless. */
const CLOCK_TIMEOUT_MS = 1_000
/** The heartbeat has its own thread and connection. */
const HEARTBEAT_CONNECTIONS = 1
/** If other nodes may use the same database, wake-ups are received on a separate connection. */
const WAKE_UP_CONNECTIONS = 1
/**
 * Connections of the `upkeep` pool by role, for services that run periodically and use one connection at a time: `liveness`
 * counts the reaper, expiry, the tally and housekeeping, `scheduler` the actions due on tasks at an instant, `api` the check
 * whether the database can be written to. `SilentAttempts` and `BuildWatch` share these connections.
 */
const ROUNDS: { readonly [R in Role]: number } = { api: 1, scheduler: 1, worker: 0, liveness: 4 }

/** Minimum number of connections for requests, and for the engine and callers, if a node may open only few. */
const FEWEST = 4

type ConnectionSettings = Pick<Config, 'roles' | 'databaseConnections'>

/** The pools of a node, except the one for requests. */
export interface Connections {
  readonly engine: Database
  readonly callers: Database
  readonly upkeep: Database
  readonly delivery: Database
  readonly clock: Database
  close(): Promise<void>
}

export function openConnections(
  url: string,
  config: ConnectionSettings & Pick<Config, 'databasePooling'>,
  nodeId: string,
): Connections {
  const { roles, databasePooling: pooling } = config
  const shares = sharesOf(config)
  const engine = new Database({
    url,
    // A node must be able to recognise its own sessions: see `hasOlderSession`.
    applicationName: `belfry engine ${nodeId}`,
    maxConnections: shares.engine,
    statementTimeoutMs: ENGINE_TIMEOUT_MS,
    favourIndexes: true,
    keepPlans: true,
    pooling,
  })
  const callers = new Database({
    url,
    applicationName: 'belfry callers',
    maxConnections: Math.max(1, shares.callers),
    statementTimeoutMs: ENGINE_TIMEOUT_MS,
    favourIndexes: true,
    keepPlans: true,
    pooling,
  })
  const beside = (name: string, maxConnections: number) =>
    new Database({
      url,
      applicationName: `belfry ${name}`,
      maxConnections,
      statementTimeoutMs: REQUEST_TIMEOUT_MS,
      pooling,
    })
  const upkeep = beside('upkeep', Math.max(1, roundsOf(roles)))
  const delivery = beside('delivery', DELIVERY_CONNECTIONS)
  const clock = new Database({
    url,
    applicationName: 'belfry clock',
    maxConnections: CLOCK_CONNECTIONS,
    statementTimeoutMs: CLOCK_TIMEOUT_MS,
    keepPlans: true,
    pooling,
  })
  return {
    engine,
    callers,
    upkeep,
    delivery,
    clock,
    close: async () => {
      await Promise.all([engine, callers, upkeep, delivery, clock].map((pool) => pool.close()))
    },
  }
}

/** Returns the maximum number of connections that such a node opens. They are opened when they are needed. */
export function mostConnections(
  settings: ConnectionSettings,
  { isExternal }: { readonly isExternal: boolean },
): number {
  const { requests, engine, callers } = sharesOf(settings)
  return requests + engine + callers + besides(settings.roles) - (isExternal ? 0 : WAKE_UP_CONNECTIONS)
}

/** Connections for requests, for the engine and for callers. A lower limit of the node reduces the first two equally. */
export function sharesOf({ roles, databaseConnections }: ConnectionSettings): {
  readonly requests: number
  readonly engine: number
  /** None without the role `api`. */
  readonly callers: number
} {
  const isApi = roles.includes('api')
  const requests = isApi ? REQUEST_CONNECTIONS : 1
  const excess = Math.max(0, requests + ENGINE_CONNECTIONS + besides(roles) - databaseConnections)
  const shared = Math.max(FEWEST, ENGINE_CONNECTIONS - Math.floor(excess / 2))
  const left = excess - (ENGINE_CONNECTIONS - shared)
  const callers = isApi ? Math.floor(shared * CALLERS_SHARE) : 0
  return {
    engine: shared - callers,
    callers,
    requests: Math.max(Math.min(FEWEST, requests), requests - left),
  }
}

/** Returns the connections that no setting changes. */
function besides(roles: readonly Role[]): number {
  const delivery = roles.some((role) => role !== 'scheduler') ? DELIVERY_CONNECTIONS : 0
  return roundsOf(roles) + delivery + CLOCK_CONNECTIONS + HEARTBEAT_CONNECTIONS + WAKE_UP_CONNECTIONS
}

const roundsOf = (roles: readonly Role[]) => roles.reduce((sum, role) => sum + ROUNDS[role], 0)
