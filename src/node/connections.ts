/**
 * The database connections of a node, in pools that are kept apart by who must not wait for whom. Requests may take as
 * long as lists take, and any number of clients may ask for them; so nothing that keeps a promise shares their pool.
 */
import type { Role } from '../runtime/config/choices.ts'
import type { Config } from '../runtime/config/settings.ts'
import { Database } from '../store/database/database.ts'

/** For what users ask through the API: lists, searches, changes. */
export const REQUEST_CONNECTIONS = 10
/** No request may hold a connection for longer than this. */
export const REQUEST_TIMEOUT_MS = 15_000
/** For firing, claiming, writing outcomes, shard leases, and what remote workers ask for. */
const ENGINE_CONNECTIONS = 8
/** An engine statement that takes longer than this is better tried again. */
const ENGINE_TIMEOUT_MS = 10_000
/** For subscriptions, redrives and archived projects, of which a node works on many at once. */
const DELIVERY_CONNECTIONS = 3
/** For reading the database's clock alone: behind another statement a reading would say less about the time. */
const CLOCK_CONNECTIONS = 1
/** A reading of the clock that takes longer than this says nothing. */
const CLOCK_TIMEOUT_MS = 1_000
/** The heartbeat has a thread and a connection of its own. */
const HEARTBEAT_CONNECTIONS = 1
/** Where other nodes may be on the same database, wake-ups are heard on a connection of their own. */
const WAKE_UP_CONNECTIONS = 1
/**
 * Parts of each role that go their rounds by themselves. Each uses one connection at a time and has one, so none waits for
 * another: `liveness` has the reaper, expiry, the tally and housekeeping, `scheduler` what is to be done to tasks at an instant,
 * `api` the check whether the database can be written to.
 */
const ROUNDS: { readonly [R in Role]: number } = { api: 1, scheduler: 1, worker: 0, liveness: 4 }

/** What is left of the two large pools where a node may open only few connections. */
const FEWEST = 4

type ConnectionSettings = Pick<Config, 'roles' | 'databaseConnections'>

/** The pools of a node, besides the one for requests. */
export interface Connections {
  readonly engine: Database
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
  const engine = new Database({
    url,
    // A node must be able to recognise its own sessions: see `hasOlderSession`.
    applicationName: `belfry engine ${nodeId}`,
    maxConnections: sharesOf(config).engine,
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
    upkeep,
    delivery,
    clock,
    close: async () => {
      await Promise.all([engine.close(), upkeep.close(), delivery.close(), clock.close()])
    },
  }
}

/** How many connections such a node opens at most. They are opened when they are needed. */
export function mostConnections(
  settings: ConnectionSettings,
  { isExternal }: { readonly isExternal: boolean },
): number {
  const { requests, engine } = sharesOf(settings)
  return requests + engine + besides(settings.roles) - (isExternal ? 0 : WAKE_UP_CONNECTIONS)
}

/** Connections for requests and for the engine. A lower limit of the node reduces both equally. */
export function sharesOf({ roles, databaseConnections }: ConnectionSettings): {
  readonly requests: number
  readonly engine: number
} {
  const requests = roles.includes('api') ? REQUEST_CONNECTIONS : 1
  const excess = Math.max(0, requests + ENGINE_CONNECTIONS + besides(roles) - databaseConnections)
  const engine = Math.max(FEWEST, ENGINE_CONNECTIONS - Math.floor(excess / 2))
  const left = excess - (ENGINE_CONNECTIONS - engine)
  return { engine, requests: Math.max(Math.min(FEWEST, requests), requests - left) }
}

/** What no setting changes. */
function besides(roles: readonly Role[]): number {
  const delivery = roles.some((role) => role !== 'scheduler') ? DELIVERY_CONNECTIONS : 0
  return roundsOf(roles) + delivery + CLOCK_CONNECTIONS + HEARTBEAT_CONNECTIONS + WAKE_UP_CONNECTIONS
}

const roundsOf = (roles: readonly Role[]) => roles.reduce((sum, role) => sum + ROUNDS[role], 0)
