/** What the roles of a node share: who it is, its connections, its clock, and how it hears of other nodes. */

import { Readiness } from '../api/http/readiness.ts'
import { uuidv7 } from '../core/ids.ts'
import { labelsOfNode } from '../core/run/own-labels.ts'
import { type Network, parseNetwork } from '../core/values/network.ts'
import { LogWriter } from '../logs/log-writer.ts'
import { RefusedRequests } from '../operations/audit-log/refused-requests.ts'
import type { Facilities, ProgramMaxima } from '../operations/context.ts'
import { WriteCheck } from '../operations/server/write-check.ts'
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

const DAY_MS = 86_400_000

/** A receiver of events may take a third of a lease to answer: with the default settings that is 10 s. */
const LEASES_OF_SUBSCRIPTIONS = 2

/** What a node is told to be. */
export interface NodeOptions {
  readonly config: Config
  /** For what users ask through the API. */
  readonly db: Database
  /** Where that database is: everything else has connections of its own, which no request can use up. */
  readonly databaseUrl: string
  /** The database's address as people may see it. */
  readonly databasePlace: string
  /** Whether the database is embedded: then no other node is on it, and none must be told what happens here. */
  readonly isEmbedded: boolean
  /** Where the node may make a key for secrets: in the data directory of its own database. */
  readonly ownKeyFile: OwnKeyFile | null
  readonly version: string
  /** Where the built dashboard lies. */
  readonly dashboardDir: string
  readonly log: Logger
  /** The last migration that this build knows. */
  readonly lastMigration: number
  /** The database no longer admits this build: the node must stop. */
  onTooOld(reason: string): void
  /** This node was declared dead by others: the process must end. */
  onDeclaredDead(): void
}

/** The parts that the roles of a node are built on. */
export interface Foundations extends NodeOptions {
  readonly id: string
  readonly clock: DatabaseClock
  readonly connections: Connections
  readonly definitions: Definitions
  readonly wakeUps: WakeUps
  /** Wake-ups of other nodes; null where there are none. */
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
  readonly resolver: NameResolver
  readonly userAgent: string
  readonly allowPrivateAddresses: boolean
  /** Networks among those that tasks may reach even if the others may not. */
  readonly allowedNetworks: readonly Network[]
  readonly projectSettings: ProjectSettings
  /** What this node may have open at once. */
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
    ownPorts: new OwnPorts(),
    resolver: new NameResolver(),
    userAgent: `belfry/${version}`,
    allowPrivateAddresses: reachesPrivate(config),
    allowedNetworks: allowedNetworksOf(config),
    projectSettings: new ProjectSettings({ db: engine, log }),
    files: filesOf(options, log),
    subscriptionLeaseMs: LEASES_OF_SUBSCRIPTIONS * config.leaseMs,
  }
}

/** With a warning where the limit of open files is too low for the calls that were asked for. */
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

/** Listening needs a session that lasts, which a pooler may not give. */
const listenUrlOf = ({ databasePooling, databaseDirectUrl }: Config, databaseUrl: string) =>
  databaseDirectUrl ?? (databasePooling === 'session' ? databaseUrl : null)

/**
 * Whoever can use a server that is for this machine alone is on it and reaches what it reaches; unless the operator has said
 * what tasks may reach. A node without the API does not know who may use those that have it.
 */
export const reachesPrivate = (config: Config) =>
  config.privateAddresses === 'auto'
    ? config.roles.includes('api') && isForThisMachine(config) && config.allowedPrivateNetworks.length === 0
    : config.privateAddresses === 'allow'

const allowedNetworksOf = ({ allowedPrivateNetworks }: Config): Network[] =>
  allowedPrivateNetworks.flatMap((text) => parseNetwork(text) ?? [])
