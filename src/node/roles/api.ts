/** The api role: HTTP requests, remote workers, and redrives. */
import { createApp } from '../../api/app.ts'
import { HttpServer } from '../../api/http/http-server.ts'
import type { Certificate } from '../../api/http/tls/certificate.ts'
import { readDashboard } from '../../api/pages/dashboard-files.ts'
import { Tester } from '../../events/subscriptions/tester.ts'
import { Redriver } from '../../maintenance/redriver.ts'
import { KeyBook } from '../../operations/keys/key-book.ts'
import { providerFrom } from '../../operations/people/openid-provider.ts'
import { SessionBook } from '../../operations/sessions/session-book.ts'
import { AttemptDesk } from '../../remote/attempt-desk.ts'
import { RemoteDesk } from '../../remote/remote-desk.ts'
import type { Service } from '../../runtime/service.ts'
import { PostgresTransport } from '../../transport/postgres/postgres-transport.ts'
import type { Foundations } from '../foundations.ts'
import { isForThisMachine, isLoopback, proxyOf } from '../loopback.ts'
import { OpenHostError } from '../open-host.ts'

/** The services of the role, and the server that must start after them. */
export interface ApiRole {
  /** The services in the order in which they start; the server starts after them. */
  readonly services: readonly Service[]
  readonly server: HttpServer
  readonly keys: KeyBook
}

export async function apiRole(foundations: Foundations, certificate: Certificate | null): Promise<ApiRole> {
  const { config, connections, wakeUps, definitions, clock, log, facilities, ownPorts } = foundations
  const remoteWorkers = new RemoteDesk({
    db: connections.engine,
    callersDb: connections.callers,
    transportOn: (queryable) => new PostgresTransport(queryable),
    wakeUps,
    definitions,
    lanes: facilities.lanes,
    clock,
    log,
    claimEveryMs: config.claimEveryMs,
    heartbeatMs: config.heartbeatMs,
    leaseMs: config.leaseMs,
    vault: foundations.vault,
    addresses: facilities.addresses,
    signer: foundations.signer,
    projectNetworks: foundations.projectSettings,
    logs: foundations.logs,
    maxLogBytes: config.maxLogBytes,
  })
  const attemptReports = new AttemptDesk({
    db: connections.engine,
    definitions,
    wakeUps,
    clock,
    vault: foundations.vault,
  })
  const tester = new Tester({
    clock,
    userAgent: foundations.userAgent,
    keys: foundations.signer,
    http: foundations.http,
    timeoutMs: Math.floor(foundations.subscriptionLeaseMs / 3),
  })
  const keys = new KeyBook({
    db: connections.callers,
    wakeUps,
    clock,
    log,
    adminKey: config.adminKey,
    // Configuring a provider means that people must sign in.
    isLoopback: isForThisMachine(config) && config.oidcIssuer === null,
  })
  const people = peopleOf(foundations)
  if (!isForThisMachine(config) && !(await keys.hasAdmin({ canBeMembers: config.oidcIssuer !== null })))
    throw new OpenHostError(config.host, isLoopback(config.host) ? proxyOf(config) : null)
  const app = await createApp({
    facilities,
    callersDb: connections.callers,
    keys,
    people,
    readiness: foundations.readiness,
    remoteWorkers,
    attemptReports,
    tester,
    log,
    installation: {
      version: foundations.version,
      loopbackOnly: isLoopback(config.host),
      publicUrl: config.publicUrl,
      allowedOrigins: config.allowedOrigins,
      trustedProxies: config.trustedProxies,
      isEmbedded: foundations.isEmbedded,
      databasePlace: foundations.databasePlace,
    },
    connections: { ...config, maxConnections: foundations.files.apiConnections },
    slowDatabaseMs: config.slowDatabaseMs,
    certificate,
    dashboard: readDashboard(foundations.dashboardDir),
  })
  const redriver = new Redriver({ facilities: { ...facilities, db: connections.delivery }, log })
  const { host, port } = config
  const server = new HttpServer({ app, host, port, onListening: (actual) => ownPorts.add(actual) })
  const services = [foundations.refusedRequests, keys, people.sessions, remoteWorkers, tester, redriver]
  return { services, server, keys }
}

/** How people sign in: through the provider, if one is configured, and with keys. */
function peopleOf({ config, connections, wakeUps, log }: Foundations) {
  const provider = providerFrom(config)
  const rules = {
    idleMinutes: config.sessionIdleMinutes,
    maxHours: config.sessionMaxHours,
    issuer: provider?.issuer ?? null,
  }
  return { provider, sessions: new SessionBook({ db: connections.callers, wakeUps, log, rules }) }
}
