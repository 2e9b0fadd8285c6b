/** What the roles of a node share: its identity, its connections, its clock, and its wake-ups. */

import { Readiness } from '../api/http/readiness.ts'
import { uuidv7 } from '../core/ids.ts'
import { labelsOfNode } from '../core/run/own-labels.ts'
import { type Network, parseNetwork } from '../core/values/network.ts'
import { DAY_MS } from '../core/values/time-units.ts'
import { LogWriter } from '../logs/log-writer.ts'
import { RefusedRequests } from '../operations/audit-log/refused-requests.ts'
import type { Facilities, ProgramMaxima } from '../operations/context.ts'
import { WriteCheck } from '../operations/server/write-check.ts'
import type { HttpClientOptions } from '../outgoing/http-client.ts'
import { NameResolver } from '../outgoing/names/name-resolver.ts'
import { OwnPorts } from '../outgoing/own-ports.ts'
import { ProjectSettings } from '../outgoing/project-settings.ts'
import { SecretSigner } from '../outgoing/signer.ts'
import { allowsNetwork, ownMaxima } from '../programs/programs.ts'
import { DatabaseClock } from '../runtime/clock.ts'
import type { Config } from '../runtime/config/settings.ts'
import { type FileShare, fileWarning, openFileLimit, shareFiles } from '../runtime/open-files.ts'
import { AddressSigner } from '../secrets/address-signer.ts'
import { KeySource, type OwnKeyFile } from '../secrets/key-source.ts'
import { Vault } from '../secrets/vault.ts'
import type { Database } from '../store/database/database.ts'
import type { Logger } from '../telemetry/logger.ts'
import { Definitions } from '../transport/definitions.ts'
import { LaneRegistry } from '../transport/lane-registry.ts'
import { PostgresWakeUps } from '../transport/postgres/postgres-wake-ups.ts'
import { LocalWakeUps, type WakeUps } from '../transport/wake-ups.ts'
import { type Connections, mostConnections, openConnections } from './connections.ts'
import { isForThisMachine, isLoopback } from './loopback.ts'

/** A receiver of events may take a third of this lease to answer: with the default settings, 10 s. */
const LEASES_OF_SUBSCRIPTIONS = 2

/** Options of a node. */
export interface NodeOptions {
  readonly config: Config
  /** For requests of users through the API. */
  readonly db: Database
  /** The address of that database: all other parts open their own connections, which requests cannot use up. */
  readonly databaseUrl: string
  /** The address of the database as users may see it. */
  readonly databasePlace: string
  /** Whether the database is embedded: then no other node uses it, and no wake-ups are sent. */
  readonly isEmbedded: boolean
  /** Where the node may create a key for secrets: in the data directory of its own database. */
  readonly ownKeyFile: OwnKeyFile | null
  readonly version: string
  /** Directory of the built dashboard. */
  readonly dashboardDir: string
  readonly log: Logger
  /** The last migration that this build includes. */
  readonly lastMigration: number
  /** Called when the database no longer admits this build: the node must stop. */
  onTooOld(reason: string): void
  /** Called when another node has declared this one dead: the process must exit. */
  onDeclaredDead(): void
}

/** The shared parts of the roles of a node. */
export interface Foundations extends NodeOptions {
  readonly id: string
  readonly clock: DatabaseClock
  readonly connections: Connections
  readonly definitions: Definitions
  readonly wakeUps: WakeUps
  /** Wake-ups of other nodes; null if there can be none. */
  readonly distant: PostgresWakeUps | null
  readonly facilities: Facilities
  /** Runs on nodes with the role api. */
  readonly refusedRequests: RefusedRequests
  readonly readiness: Readiness
  /** The logs of attempts, on nodes with the role api or worker. */
  readonly logs: LogWriter
  readonly signer: SecretSigner
  readonly vault: Vault
  readonly ownPorts: OwnPorts
  readonly userAgent: string
  /** Where requests of tasks and to receivers of events may connect, and how names are resolved. */
  readonly http: HttpClientOptions
  readonly projectSettings: ProjectSettings
  /** How many files and connections this node may have open at once. */
  readonly files: FileShare
  readonly subscriptionLeaseMs: number
}

export function layFoundations(options: NodeOptions): Foundations {
  const { config, databaseUrl, isEmbedded, db, version } = options
  const id = uuidv7()
  const log = options.log.child({ node: id })
  const clock = new DatabaseClock()
  const connections = openConnections(databaseUrl, config, id)
  const { engine, upkeep } = connections
  const listenUrl = listenUrlOf(config, databaseUrl)
  const distant = isEmbedded ? null : new PostgresWakeUps({ nodeId: id, db: engine, listenUrl, clock, log })
  const wakeUps = distant ?? new LocalWakeUps()
  const writeCheck = new WriteCheck(upkeep)
  const refusedRequests = new RefusedRequests({ db, clock, log })
  const source = new KeySource({
    keys: config.secretsKey,
    file: config.secretsKeyFile,
    ownFile: options.ownKeyFile,
  })
  const vault = new Vault({ db: engine, log, source, nodeId: id, labels: labelsOfNode(config.labels) })
  const projectSettings = new ProjectSettings({ db: engine, log })
  const ownPorts = new OwnPorts()
  return {
    ...options,
    id,
    log,
    clock,
    connections,
    definitions: new Definitions(engine),
    wakeUps,
    distant,
    readiness: new Readiness(writeCheck),
    logs: new LogWriter({ db: engine, clock, log, maxLogBytes: config.maxLogBytes }),
    refusedRequests,
    facilities: {
      db,
      writeCheck,
      clock,
      wakeUps,
      lanes: new LaneRegistry(),
      vault,
      addresses: new AddressSigner({ vault, clock }),
      maxFileBytes: config.maxFileBytes,
      programMaxima: programMaximaOf(config),
      heartbeatMs: config.heartbeatMs,
      shardTakeoverMs: config.shardTakeoverMs,
      misfireGraceMs: config.misfireGraceMs,
      deadNodeMinutes: config.deadNodeMinutes,
      refusedRequests,
      privateReach: reachesPrivate(config) ? 'all' : config.allowedPrivateNetworks,
      limits: {
        minPeriodMs: config.minPeriodMs,
        maxAheadMs: config.maxAheadDays === 0 ? null : config.maxAheadDays * DAY_MS,
      },
    },
    vault,
    signer: new SecretSigner({ db: engine, clock, log, vault }),
    ownPorts,
    http: {
      allowPrivate: reachesPrivate(config),
      allowedNetworks: allowedNetworksOf(config),
      projectNetworks: projectSettings,
      own: ownPorts,
      resolver: new NameResolver(),
    },
    userAgent: `belfry/${version}`,
    projectSettings,
    files: filesOf(options, log),
    subscriptionLeaseMs: LEASES_OF_SUBSCRIPTIONS * config.leaseMs,
  }
}

/** Divides the limit of open files; logs a warning if it is too low for the configured number of calls. */
function filesOf({ config, isEmbedded }: NodeOptions, log: Logger): FileShare {
  const limit = openFileLimit()
  const databaseConnections = mostConnections(config, { isExternal: !isEmbedded })
  const needs = { maxCalls: config.maxCalls, apiConnections: config.maxConnections, databaseConnections }
  const warning = config.roles.includes('worker') ? fileWarning(limit, needs) : undefined
  if (warning !== undefined) log.warn(warning)
  return shareFiles(limit, needs)
}

function programMaximaOf(config: Config): ProgramMaxima | null {
  const maxima = ownMaxima(config, isLoopback(config.host))
  const network = allowsNetwork(config, reachesPrivate(config))
  return maxima && { ...maxima, network, labels: config.labels }
}

/** Returns the address for listening, which needs a permanent session that a pooler may not provide; null if there is none. */
const listenUrlOf = ({ databasePooling, databaseDirectUrl }: Config, databaseUrl: string) =>
  databaseDirectUrl ?? (databasePooling === 'session' ? databaseUrl : null)

/**
 * Whether tasks may reach private addresses. By default they may if only users of this machine can use the server, because they
 * can reach the same addresses themselves, unless the operator has listed the networks that tasks may reach. A node without the
 * API does not know who can use the nodes that have it, so its tasks may not.
 */
export const reachesPrivate = (config: Config) =>
  config.privateAddresses === 'auto'
    ? config.roles.includes('api') && isForThisMachine(config) && config.allowedPrivateNetworks.length === 0
    : config.privateAddresses === 'allow'

const allowedNetworksOf = ({ allowedPrivateNetworks }: Config): Network[] =>
  allowedPrivateNetworks.flatMap((text) => parseNetwork(text) ?? [])
