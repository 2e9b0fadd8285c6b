/** One node: the parts that its roles ask for, wired together. Nothing else knows more than one of them. */
import { hostname } from 'node:os'
import { setTimeout as delay } from 'node:timers/promises'
import { createApp } from '../api/app.ts'
import { HealthServer } from '../api/http/health-server.ts'
import { HttpServer } from '../api/http/http-server.ts'
import { Readiness } from '../api/http/readiness.ts'
import { readDashboard } from '../api/pages/dashboard-files.ts'
import { shownPath, shownUrl } from '../cli/database.ts'
import { parseSmtpUrl } from '../core/action/smtp-url.ts'
import { uuidv7 } from '../core/ids.ts'
import { DEFAULT_PROJECT_ID } from '../core/values/default-project.ts'
import { Deliverer } from '../events/subscriptions/deliverer.ts'
import { Tester } from '../events/subscriptions/tester.ts'
import { BuildWatch } from '../liveness/build-watch.ts'
import { ClockSync } from '../liveness/clock-sync.ts'
import { Heartbeat } from '../liveness/heartbeat.ts'
import { Reaper } from '../liveness/reaper.ts'
import { Auditor } from '../maintenance/audit/auditor.ts'
import { Expiry } from '../maintenance/expiry.ts'
import { Housekeeping } from '../maintenance/housekeeping.ts'
import { Redriver } from '../maintenance/redriver.ts'
import { Tally } from '../maintenance/tally.ts'
import { endPauseOnTime } from '../operations/tasks/pause-task.ts'
import { skipOnTime } from '../operations/tasks/skip-next.ts'
import { OwnPorts } from '../outgoing/own-ports.ts'
import { SecretSigner } from '../outgoing/signer.ts'
import { Overruns } from '../remote/overruns.ts'
import { RemoteDesk } from '../remote/remote-desk.ts'
import { DatabaseClock } from '../runtime/clock.ts'
import type { Config, Role } from '../runtime/config.ts'
import { type Service, startAll, stopAll } from '../runtime/service.ts'
import { Backfiller } from '../scheduler/backfiller.ts'
import { BlackoutBook } from '../scheduler/blackout-book.ts'
import { Scheduler } from '../scheduler/scheduler.ts'
import { ShardLeases } from '../scheduler/shard-leases.ts'
import type { Database } from '../store/database/database.ts'
import { WriteCheck } from '../store/database/write-check.ts'
import { insertClockStep } from '../store/nodes/clock-steps.ts'
import { senderOf } from '../store/projects/projects.ts'
import { LaneRegistry } from '../store/queues/queues.ts'
import type { Logger } from '../telemetry/logger.ts'
import { Definitions } from '../transport/definitions.ts'
import { PostgresTransport } from '../transport/postgres/postgres-transport.ts'
import { PostgresWakeUps } from '../transport/postgres/postgres-wake-ups.ts'
import { LocalWakeUps } from '../transport/wake-ups.ts'
import { createExecutors, type MailOptions } from '../worker/executors/executors.ts'
import { Worker } from '../worker/worker.ts'
import { type Connections, openConnections } from './connections.ts'
import { isLoopback } from './loopback.ts'

const DAY_MS = 86_400_000

export interface NodeOptions {
  readonly config: Config
  /** For what users ask through the API. */
  readonly db: Database
  /** Where that database is: everything else has connections of its own, which no request can use up. */
  readonly databaseUrl: string
  /** Of the embedded database; null where other nodes may be on the same one, and must be told what happens here. */
  readonly dataDir: string | null
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

/** A node that has started. */
export interface Node {
  readonly id: string
  /** Where the API answers; without that role, where `/healthz` and `/readyz` do. */
  readonly url: string
  /** How far the database's clock is from this machine's, in milliseconds. */
  readonly clockOffsetMs: number
  stop(): Promise<void>
}

/** A receiver of events may take a third of a lease to answer: with the default settings that is 10 s. */
const LEASES_OF_SUBSCRIPTIONS = 2

export async function startNode({
  config,
  db,
  databaseUrl,
  dataDir,
  version,
  dashboardDir,
  lastMigration,
  onTooOld,
  log: rootLog,
  onDeclaredDead,
}: NodeOptions): Promise<Node> {
  const id = uuidv7()
  const log = rootLog.child({ node: id })
  const has = (role: Role) => config.roles.includes(role)
  const clock = new DatabaseClock()
  const connections = openConnections(databaseUrl, config, id)
  const { engine, upkeep, delivery } = connections
  const definitions = new Definitions(engine)
  const distant =
    dataDir === null
      ? new PostgresWakeUps({
          nodeId: id,
          db: engine,
          listenUrl: listenUrlOf(config, databaseUrl),
          clock,
          log,
        })
      : null
  const wakeUps = distant ?? new LocalWakeUps()

  const writeCheck = new WriteCheck(upkeep)
  const readiness = new Readiness(writeCheck)
  const context = {
    db,
    writeCheck,
    clock,
    wakeUps,
    lanes: new LaneRegistry(),
    heartbeatMs: config.heartbeatMs,
    shardTakeoverMs: config.shardTakeoverMs,
    misfireGraceMs: config.misfireGraceMs,
    limits: {
      minPeriodMs: config.minPeriodMs,
      maxAheadMs: config.maxAheadDays === 0 ? null : config.maxAheadDays * DAY_MS,
    },
    projectId: DEFAULT_PROJECT_ID,
  }

  const atUpkeep = { ...context, db: upkeep }
  const ownPorts = new OwnPorts()
  let worker: Worker | null = null
  const heartbeat = new Heartbeat({
    node: {
      id,
      name: `${hostname()}/${process.pid}`,
      version,
      roles: config.roles,
      concurrency: has('worker') ? config.concurrency : 0,
      labels: has('worker') ? config.labels : [],
    },
    db: engine,
    databaseUrl,
    log,
    everyMs: config.heartbeatMs,
    leaseMs: config.leaseMs,
    onDoubt: (isInDoubt) => (isInDoubt ? worker?.suspend() : worker?.resume()),
    onDeclaredDead: () => {
      worker?.suspend()
      onDeclaredDead()
    },
  })
  const services: Service[] = [
    closing(connections),
    new ClockSync({ db: connections.clock, clock, log, record: ({ byMs }) => recordStep(engine, id, byMs) }),
    heartbeat,
  ]
  services.push(new BuildWatch({ db: upkeep, log, lastMigration, onTooOld }))
  if (distant) services.push(distant)
  const signer = new SecretSigner({ db: engine, clock, log })
  if (has('api') || has('worker')) services.push(signer)
  // What answers is stopped after what works: a node that stops goes on answering until its runs have ended.
  let server: HttpServer | HealthServer
  if (has('api')) {
    const remoteWorkers = new RemoteDesk({
      db: engine,
      transportOn: (queryable) => new PostgresTransport(queryable),
      wakeUps,
      definitions,
      clock,
      log,
      claimEveryMs: config.claimEveryMs,
      heartbeatMs: config.heartbeatMs,
      leaseMs: config.leaseMs,
    })
    services.push(remoteWorkers)
    const tester = new Tester({
      clock,
      userAgent: `belfry/${version}`,
      keys: signer,
      allowPrivateAddresses: reachesPrivate(config),
      ownPorts,
      timeoutMs: Math.floor((LEASES_OF_SUBSCRIPTIONS * config.leaseMs) / 3),
    })
    services.push(tester)
    const app = await createApp({
      context,
      readiness,
      remoteWorkers,
      tester,
      log,
      installation: {
        version,
        loopbackOnly: isLoopback(config.host),
        allowedOrigins: config.allowedOrigins,
        isEmbedded: dataDir !== null,
        databasePlace: dataDir === null ? shownUrl(databaseUrl) : shownPath(dataDir),
      },
      connections: config,
      dashboard: readDashboard(dashboardDir),
    })
    services.push(new Redriver({ context: { ...context, db: delivery }, log }))
    server = new HttpServer({
      app,
      host: config.host,
      port: config.port,
      onListening: (port) => ownPorts.add(port),
    })
  } else server = new HealthServer({ readiness, host: config.host, port: config.port })
  services.push(server)
  if (has('liveness')) {
    services.push(
      new Reaper({
        nodeId: id,
        db: upkeep,
        wakeUps,
        clock,
        log,
        everyMs: config.reaperMs,
        deadAfterMs: config.leaseMs,
        batch: config.reclaimBatch,
      }),
    )
    const { historyDays, deadNodeMinutes, housekeepingMs: everyMs } = config
    services.push(new Housekeeping({ db: upkeep, log, historyDays, deadNodeMinutes, everyMs }))
    services.push(new Tally({ db: upkeep, log }))
    services.push(new Auditor({ db: engine, wakeUps, log }))
    services.push(new Expiry({ db: upkeep, wakeUps, log }))
    services.push(new Overruns({ db: engine, definitions, wakeUps, clock, log, leaseMs: config.leaseMs }))
  }
  if (has('worker')) {
    const executor = createExecutors({
      allowPrivateAddresses: reachesPrivate(config),
      ownPorts,
      userAgent: `belfry/${version}`,
      signer,
      mail: mailOf(config),
      senderOf: async (projectId) => (await engine.run(senderOf(projectId)))[0],
    })
    worker = new Worker({
      nodeId: id,
      db: engine,
      transport: new PostgresTransport(engine),
      wakeUps,
      definitions,
      executor,
      clock,
      log,
      concurrency: config.concurrency,
      labels: config.labels,
      claimEveryMs: config.claimEveryMs,
      claimAhead: config.claimAhead,
      cancelEveryMs: config.cancelEveryMs,
      graceMs: config.shutdownGraceMs,
    })
    services.push(worker)
    services.push(
      new Deliverer({
        db: delivery,
        clock,
        log,
        userAgent: `belfry/${version}`,
        keys: signer,
        allowPrivateAddresses: reachesPrivate(config),
        ownPorts,
        leaseMs: LEASES_OF_SUBSCRIPTIONS * config.leaseMs,
      }),
    )
  }
  if (has('scheduler')) {
    const leases = new ShardLeases({
      nodeId: id,
      db: engine,
      log,
      beatMs: config.shardBeatMs,
      takeoverMs: config.shardTakeoverMs,
    })
    const blackouts = new BlackoutBook({ db: engine, wakeUps, log })
    const scheduler = new Scheduler({
      nodeId: id,
      db: engine,
      definitions,
      clock,
      log,
      leases,
      wakeUps,
      worker,
      lookAheadMs: config.lookAheadMs,
      lookEveryMs: config.lookEveryMs,
      lookRows: config.lookRows,
      fireBatch: config.fireBatch,
      misfireGraceMs: config.misfireGraceMs,
      blackouts,
      carryOut: ({ kind, runId }) =>
        kind === 'resume' ? endPauseOnTime(atUpkeep, runId) : skipOnTime(atUpkeep, runId),
    })
    services.push(leases, blackouts, scheduler, new Backfiller({ db: engine, definitions, wakeUps, log }))
  }
  await startAll(services)
  readiness.enter('serving')
  return {
    id,
    url: server.url,
    clockOffsetMs: clock.now() - Date.now(),
    stop: async () => {
      readiness.enter('stopping')
      await delay(config.drainMs)
      await stopAll(services)
    },
  }
}

const recordStep = async (db: Database, nodeId: string, byMs: number): Promise<void> => {
  await db.run(insertClockStep({ id: uuidv7(), nodeId, byMs }))
}

/** Listening needs a session that lasts, which a pooler may not give. */
const listenUrlOf = ({ databasePooling, databaseDirectUrl }: Config, databaseUrl: string) =>
  databaseDirectUrl ?? (databasePooling === 'session' ? databaseUrl : null)

/** The setting was read before, so what cannot be read is not there. */
function mailOf({ smtpUrl, smtpFrom }: Config): MailOptions | null {
  const parsed = smtpUrl === null ? null : parseSmtpUrl(smtpUrl)
  return parsed?.ok ? { server: parsed.server, from: smtpFrom } : null
}

/** Who can ask a server on loopback is on this machine anyway, and reaches what it reaches. */
const reachesPrivate = ({ privateAddresses, host }: Config) =>
  privateAddresses === 'auto' ? isLoopback(host) : privateAddresses === 'allow'

/** A part that has nothing to start and is the last to stop. */
const closing = (connections: Connections): Service => ({
  start: () => {},
  stop: () => connections.close(),
})
