/** One node: starts the services of its roles and connects them. No other module knows more than one role. */
import { hostname } from 'node:os'
import { setTimeout as delay } from 'node:timers/promises'
import { HealthServer } from '../api/http/health-server.ts'
import { readCertificate } from '../api/http/tls/certificate.ts'
import { CertificateWatch } from '../api/http/tls/certificate-watch.ts'
import { uuidv7 } from '../core/ids.ts'
import { labelsOfNode } from '../core/run/own-labels.ts'
import { BuildWatch } from '../liveness/build-watch.ts'
import { ClockSync } from '../liveness/clock-sync.ts'
import { Heartbeat } from '../liveness/heartbeat.ts'
import type { ProgramsState } from '../programs/programs.ts'
import type { Role } from '../runtime/config/choices.ts'
import type { Config } from '../runtime/config/settings.ts'
import { type Service, startAll, stopAll } from '../runtime/service.ts'
import { insertClockStep } from '../store/nodes/clock-steps.ts'
import type { Worker } from '../worker/worker.ts'
import { type Foundations, layFoundations, type NodeOptions } from './foundations.ts'
import { apiRole } from './roles/api.ts'
import { livenessRole } from './roles/liveness.ts'
import { schedulerRole } from './roles/scheduler.ts'
import { workerRole } from './roles/worker.ts'

/** A node that has started. */
export interface Node {
  readonly id: string
  /** The address of the API; without that role, the address of `/healthz` and `/readyz`. */
  readonly url: string
  /** Difference between the database's clock and this machine's, in milliseconds. */
  readonly clockOffsetMs: number
  /** Whether requests need no key: only this machine can send them, and the installation has no keys. */
  readonly isOpen: boolean
  /** Whether its worker runs programs; null if it has no worker. */
  readonly programs: ProgramsState | null
  stop(): Promise<void>
}

export async function startNode(options: NodeOptions): Promise<Node> {
  const foundations = layFoundations(options)
  const { id, config, clock, readiness, log } = foundations
  const has = (role: Role) => config.roles.includes(role)
  const work = has('worker') ? workerRole(foundations) : null
  const tls = await tlsOf(config)
  const certificate = tls?.certificate ?? null
  const api = has('api') ? await orClose(foundations, () => apiRole(foundations, certificate)) : null
  const server =
    api?.server ?? new HealthServer({ readiness, host: config.host, port: config.port, certificate })
  // Services stop in reverse order: a stopping node answers requests until its runs have ended.
  const services: Service[] = [
    ...presence(foundations, work?.worker ?? null),
    foundations.vault,
    ...(api || work ? [foundations.signer, foundations.projectSettings, foundations.logs] : []),
    ...(api?.services ?? []),
    server,
    ...(tls ? [new CertificateWatch({ ...tls, server, log })] : []),
    ...(has('liveness') ? livenessRole(foundations) : []),
    ...(work ? [work.programs, work.targets, work.worker, work.deliverer] : []),
    ...(has('scheduler') ? schedulerRole(foundations, work?.worker.local ?? null) : []),
  ]
  await startAll(services)
  readiness.enter('serving')
  return {
    id,
    url: server.url,
    clockOffsetMs: clock.now() - Date.now(),
    isOpen: (await api?.keys.isOpen()) ?? false,
    programs: work?.programs.state ?? null,
    stop: async () => {
      readiness.enter('stopping')
      await delay(config.drainMs)
      await stopAll(services)
    },
  }
}

/** Returns the certificate of the node and its files; null for a node without TLS. */
async function tlsOf({ tlsCert: certFile, tlsKey: keyFile }: Config) {
  if (certFile === null || keyFile === null) return null
  const files = { certFile, keyFile }
  return { files, certificate: await readCertificate(files) }
}

/** Closes the connections if `make` fails. */
async function orClose<T>({ connections }: Foundations, make: () => Promise<T>): Promise<T> {
  try {
    return await make()
  } catch (error) {
    await connections.close()
    throw error
  }
}

/** The services of every node, whatever its roles: connections, a clock, a heartbeat, wake-ups. */
function presence(foundations: Foundations, worker: Worker | null): Service[] {
  const { id, clock, log, connections, distant, lastMigration, onTooOld } = foundations
  const { engine, upkeep } = connections
  const record = async ({ byMs }: { byMs: number }) => {
    await engine.run(insertClockStep({ id: uuidv7(), nodeId: id, byMs }))
  }
  return [
    { start: () => {}, stop: () => connections.close() },
    new ClockSync({ db: connections.clock, clock, log, record }),
    heartbeatOf(foundations, worker),
    new BuildWatch({ db: upkeep, log, lastMigration, onTooOld }),
    ...(distant ? [distant] : []),
  ]
}

/** A node that cannot be sure of its lease suspends its worker before other nodes take its runs. */
function heartbeatOf(foundations: Foundations, worker: Worker | null): Heartbeat {
  const { id, config, connections, databaseUrl, log, version, onDeclaredDead } = foundations
  return new Heartbeat({
    node: {
      id,
      name: `${hostname()}/${process.pid}`,
      version,
      roles: config.roles,
      concurrency: worker ? config.concurrency : 0,
      labels: worker ? labelsOfNode(config.labels) : [],
    },
    db: connections.engine,
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
}
