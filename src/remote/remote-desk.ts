/**
 * Serves remote workers. Every response follows from the tables: any node can serve any request, and repeating a request
 * changes nothing. A worker can change only runs that are leased to it, and only with the fence of the lease.
 */
import type { ProjectNetworks } from '../outgoing/project-networks.ts'
import type { Signer } from '../outgoing/signer.ts'
import type { HoldingClock } from '../runtime/clock.ts'
import type { Service } from '../runtime/service.ts'
import type { AddressSigner } from '../secrets/address-signer.ts'
import type { Vault } from '../secrets/vault.ts'
import type { Database, Queryable } from '../store/database/database.ts'
import { handBackRuns } from '../store/nodes/leased-runs.ts'
import type { Logger } from '../telemetry/logger.ts'
import type { Definitions } from '../transport/definitions.ts'
import type { LaneRegistry } from '../transport/lane-registry.ts'
import type {
  Introduction,
  Receipt,
  RemoteClaim,
  RemoteLease,
  RemoteLog,
  RemoteReport,
  RemoteRun,
  RemoteStatus,
  RemoteWorker,
  RemoteWorkers,
  Standings,
  Welcome,
} from '../transport/remote-workers.ts'
import type { Taking } from '../transport/transport.ts'
import type { WakeUps } from '../transport/wake-ups.ts'
import { AwaitedOutcomes } from './awaited-outcomes.ts'
import { GivenRuns } from './given-runs.ts'
import { Heartbeats } from './heartbeats.ts'
import { leasedAmong, worksOf } from './leased-runs.ts'
import { type LogStore, RemoteLogs } from './remote-logs.ts'
import { RemoteSecrets } from './remote-secrets.ts'
import { Reports } from './reports.ts'
import { WaitingClaims } from './waiting-claims.ts'
import { WorkerRegistry } from './worker-registry.ts'

export interface RemoteDeskOptions {
  readonly db: Database
  /** For finding out who sends a request. */
  readonly callersDb: Queryable
  readonly transportOn: (db: Queryable) => Taking
  readonly wakeUps: WakeUps
  readonly definitions: Definitions
  readonly lanes: LaneRegistry
  readonly clock: HoldingClock
  readonly log: Logger
  readonly claimEveryMs: number
  readonly heartbeatMs: number
  readonly leaseMs: number
  readonly vault: Vault
  readonly addresses: AddressSigner
  readonly signer: Signer
  readonly projectNetworks: ProjectNetworks
  readonly maxLogBytes: number
  readonly logs: LogStore
}

export class RemoteDesk implements RemoteWorkers, Service {
  readonly #options: RemoteDeskOptions
  readonly #secrets: RemoteSecrets
  readonly #outcomes: AwaitedOutcomes
  readonly #logs: RemoteLogs
  readonly #registry: WorkerRegistry
  readonly #claims: WaitingClaims
  readonly #given: GivenRuns
  readonly #heartbeats: Heartbeats
  readonly #reports: Reports

  constructor(options: RemoteDeskOptions) {
    this.#options = options
    const secrets = new RemoteSecrets(options.vault)
    const outcomes = new AwaitedOutcomes(options)
    const registry = new WorkerRegistry(options)
    const logs = new RemoteLogs(options.logs)
    this.#secrets = secrets
    this.#outcomes = outcomes
    this.#registry = registry
    this.#logs = logs
    const labelsOf = (worker: RemoteWorker) => secrets.labelsOf(worker)
    this.#claims = new WaitingClaims({ ...options, everyMs: options.claimEveryMs, labelsOf })
    this.#given = new GivenRuns(options, { secrets, outcomes })
    this.#heartbeats = new Heartbeats(options, secrets)
    this.#reports = new Reports(options, { registry, secrets, outcomes, logs })
  }

  start(): void {
    this.#outcomes.start()
    this.#claims.start()
  }

  async stop(): Promise<void> {
    await this.#claims.stop()
    await this.#outcomes.stop()
  }

  dismissAll(): void {
    this.#claims.dismissAll()
  }

  register(introduction: Introduction): Promise<Welcome> {
    return this.#registry.register(introduction)
  }

  authenticate(token: string | null): Promise<RemoteWorker> {
    return this.#registry.authenticate(token)
  }

  find(id: string): Promise<RemoteWorker> {
    return this.#registry.find(id)
  }

  offer(worker: RemoteWorker, commands: readonly string[]): Promise<void> {
    return this.#registry.offer(worker, commands)
  }

  leave(worker: RemoteWorker): Promise<void> {
    return this.#registry.leave(worker)
  }

  async claim(worker: RemoteWorker, claim: RemoteClaim, signal: AbortSignal): Promise<readonly RemoteRun[]> {
    const claimed = await this.#claims.claim(worker, claim, signal)
    return claimed.length === 0 ? [] : this.#given.of(worker, claimed)
  }

  heartbeat(worker: RemoteWorker, runs: readonly RemoteStatus[] | null): Promise<Standings> {
    return this.#heartbeats.hear(worker, runs)
  }

  async log(worker: RemoteWorker, logs: readonly RemoteLog[]): Promise<readonly string[]> {
    const { db, definitions } = this.#options
    const leased = await leasedAmong(db, worker, logs)
    if (leased.size < logs.length) await this.#registry.requireLiving(worker)
    const works = (await this.#secrets.areInUse()) ? await worksOf(definitions, [...leased.values()]) : []
    const redactors = await this.#secrets.redactorsFor(works)
    const kept = await this.#logs.store([...leased.keys()], { redactors, isLast: false })
    return logs.flatMap((log) => (leased.has(log) && kept.has(log.runId) ? [] : log.runId))
  }

  complete(worker: RemoteWorker, reports: readonly RemoteReport[]): Promise<readonly Receipt[]> {
    return this.#reports.complete(worker, reports)
  }

  async giveBack(worker: RemoteWorker, runs: readonly RemoteLease[]): Promise<void> {
    const { db, wakeUps } = this.#options
    const leased = await leasedAmong(db, worker, runs)
    if (leased.size < runs.length) await this.#registry.requireLiving(worker)
    if (leased.size === 0) return
    await db.run(handBackRuns([...leased.keys()]))
    wakeUps.announceReady()
  }
}
