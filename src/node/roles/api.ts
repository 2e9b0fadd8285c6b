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
  const { config, connections, log, facilities, ownPorts } = foundations
  const { host, port } = config
  const callers = { keys: keysOf(foundations), people: peopleOf(foundations) }
  if (
    !isForThisMachine(config) &&
    !(await callers.keys.hasAdmin({ canBeMembers: config.oidcIssuer !== null }))
  )
    throw new OpenHostError(host, isLoopback(host) ? proxyOf(config) : null)
  const remoteWorkers = remoteWorkersOf(foundations)
  const tester = testerOf(foundations)
  const app = await createApp({
    facilities,
    callersDb: connections.callers,
    ...callers,
    readiness: foundations.readiness,
    remoteWorkers,
    attemptReports: attemptReportsOf(foundations),
    tester,
    log,
    installation: installationOf(foundations),
    connections: { ...config, maxConnections: foundations.files.apiConnections },
    slowDatabaseMs: config.slowDatabaseMs,
    certificate,
    dashboard: readDashboard(foundations.dashboardDir),
  })
  const redriver = new Redriver({ facilities: { ...facilities, db: connections.delivery }, log })
  const server = new HttpServer({ app, host, port, onListening: (actual) => ownPorts.add(actual) })
  const { keys, people } = callers
  const services = [foundations.refusedRequests, keys, people.sessions, remoteWorkers, tester, redriver]
  return { services, server, keys }
}

function remoteWorkersOf(foundations: Foundations): RemoteDesk {
  const { config, connections, wakeUps, definitions, clock, log, facilities } = foundations
  return new RemoteDesk({
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
}

const attemptReportsOf = ({ connections, definitions, wakeUps, clock, vault }: Foundations) =>
  new AttemptDesk({ db: connections.engine, definitions, wakeUps, clock, vault })

const testerOf = ({ clock, userAgent, signer, http, subscriptionLeaseMs }: Foundations) =>
  new Tester({ clock, userAgent, keys: signer, http, timeoutMs: Math.floor(subscriptionLeaseMs / 3) })

const keysOf = ({ config, connections, wakeUps, clock, log }: Foundations) =>
  new KeyBook({
    db: connections.callers,
    wakeUps,
    clock,
    log,
    adminKey: config.adminKey,
    // Configuring a provider means that people must sign in.
    isLoopback: isForThisMachine(config) && config.oidcIssuer === null,
  })

/** What the API says about this installation. */
const installationOf = ({ config, version, isEmbedded, databasePlace }: Foundations) => ({
  version,
  loopbackOnly: isLoopback(config.host),
  publicUrl: config.publicUrl,
  allowedOrigins: config.allowedOrigins,
  trustedProxies: config.trustedProxies,
  isEmbedded,
  databasePlace,
})

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
