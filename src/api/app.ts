import type { IncomingMessage, ServerResponse } from 'node:http'
import fastify, {
  type FastifyBaseLogger,
  type FastifyInstance,
  LogController,
  type RawServerDefault,
} from 'fastify'
import type { ZodTypeProvider } from 'fastify-type-provider-zod'
import { uuidv7 } from '../core/ids.ts'
import type { Facilities } from '../operations/context.ts'
import type { KeyBook } from '../operations/keys/key-book.ts'
import { RequestQuotas } from '../operations/limits/request-quotas.ts'
import { ProjectBook } from '../operations/projects/project-book.ts'
import type { Queryable } from '../store/database/database.ts'
import type { Logger } from '../telemetry/logger.ts'
import type { AttemptReports } from '../transport/attempt-reports.ts'
import type { RemoteWorkers } from '../transport/remote-workers.ts'
import type { SubscriptionTester } from '../transport/subscription-tester.ts'
import { type Authenticator, authenticateRequests } from './http/authentication.ts'
import { BODY_LIMIT, parseJsonBodies } from './http/body-parsing.ts'
import { compressAnswers } from './http/compression.ts'
import { type ConnectionLimits, serverOptions } from './http/connection-limits.ts'
import { answerOtherOrigins } from './http/cross-origin.ts'
import { handleErrors, refuse, toRefusal } from './http/errors.ts'
import { readForwardedFor } from './http/forwarded-for.ts'
import { guardHost } from './http/host-guard.ts'
import { keyAuthenticator } from './http/key-authenticator.ts'
import { takeLargeBodiesInTurn } from './http/large-bodies.ts'
import { DatabaseLoad } from './http/load/database-load.ts'
import { shedLoad } from './http/load/shed-load.ts'
import { guardLoops } from './http/loop-guard.ts'
import { guardOrigin } from './http/origin-guard.ts'
import type { Readiness } from './http/readiness.ts'
import { noteRefusedRequests } from './http/refused-requests.ts'
import { requestCounter } from './http/request-limits.ts'
import { ruleBrowsers, setCommonHeaders } from './http/security-headers.ts'
import { serializeAnswers } from './http/serialization.ts'
import { sessionAuthenticator } from './http/session-authenticator.ts'
import { SlowReaders } from './http/slow-readers.ts'
import { SlowSenders } from './http/slow-senders.ts'
import { answerUnreadable } from './http/socket-errors.ts'
import { limitStreams } from './http/stream-limit.ts'
import type { Certificate } from './http/tls/certificate.ts'
import { handleUnknownRoutes } from './http/unknown-routes.ts'
import { validatorCompiler } from './http/validation/compiler.ts'
import { guardText } from './http/validation/text.ts'
import type { DashboardFiles } from './pages/dashboard-files.ts'
import { dashboardRoutes, showPages } from './pages/dashboard-routes.ts'
import type { Installation } from './resources/server/routes.ts'
import type { SignInOptions } from './resources/sign-in/routes.ts'
import { addRoutes } from './routes.ts'

export type App = FastifyInstance<
  RawServerDefault,
  IncomingMessage,
  ServerResponse,
  FastifyBaseLogger,
  ZodTypeProvider
>

export interface AppOptions {
  readonly facilities: Facilities
  /**
   * Database connections for what is read about every caller. Other requests cannot use them up, so requests of workers are
   * served even while slow lists are read.
   */
  readonly callersDb: Queryable
  readonly keys: KeyBook
  /** How people sign in. */
  readonly people: Pick<SignInOptions, 'sessions' | 'provider'>
  readonly readiness: Readiness
  /** Handles requests of remote workers. */
  readonly remoteWorkers: RemoteWorkers
  /** Handles reports about single attempts. */
  readonly attemptReports: AttemptReports
  /** Sends test deliveries to subscriptions. */
  readonly tester: SubscriptionTester
  readonly log: Logger
  readonly installation: Installation
  readonly connections: ConnectionLimits
  /** The database counts as slow if a simple query takes longer than this. */
  readonly slowDatabaseMs: number
  /** The server's certificate; null if it serves without TLS. */
  readonly certificate: Certificate | null
  /** The files of the dashboard; null if it was not built. */
  readonly dashboard: DashboardFiles | null
}

/** Longer than any key or id, so that a parameter that is too long is rejected by its schema. */
const MAX_PARAM_CHARACTERS = 8_192

export async function createApp(options: AppOptions): Promise<App> {
  const { facilities, slowDatabaseMs, log } = options
  const app = newApp(options)
  const load = new DatabaseLoad({ db: facilities.db, slowMs: slowDatabaseMs, log })
  guardRequests(app, options, load)
  admitCallers(app, options)
  handleBodies(app)
  dashboardRoutes(app, options.dashboard)
  await addRoutes(app, options, load)
  await app.ready()
  return app
}

/** An application without routes, on a server that limits its connections. */
function newApp({ log, installation, connections, certificate }: AppOptions): App {
  const app: App = fastify({
    loggerInstance: quieter(log),
    logController: new LogController({ disableRequestLogging: true }),
    bodyLimit: BODY_LIMIT,
    ...serverOptions(connections, certificate),
    routerOptions: { maxParamLength: MAX_PARAM_CHARACTERS },
    trustProxy: installation.trustedProxies.length > 0 && [...installation.trustedProxies],
    genReqId: () => uuidv7(),
    forceCloseConnections: 'idle',
    frameworkErrors: (error, request, reply) => refuse(toRefusal(error, request), request, reply),
    clientErrorHandler: answerUnreadable,
  }).withTypeProvider<ZodTypeProvider>()
  app.setValidatorCompiler(validatorCompiler)
  readForwardedFor(app)
  app.server.maxConnections = connections.maxConnections
  const slowReaders = new SlowReaders(app.server, connections.responseTimeoutMs)
  const slowSenders = new SlowSenders(app.server, connections.requestTimeoutMs)
  app.addHook('onClose', async () => {
    slowReaders.stop()
    slowSenders.stop()
  })
  return app
}

/** What applies to every request, whoever sends it. The order is that in which requests pass it. */
function guardRequests(app: App, options: AppOptions, load: DatabaseLoad): void {
  const { facilities, installation, connections, slowDatabaseMs, certificate, dashboard } = options
  const { loopbackOnly, publicUrl, allowedOrigins } = installation
  serializeAnswers(app)
  handleErrors(app)
  noteRefusedRequests(app, facilities.refusedRequests)
  handleUnknownRoutes(app, dashboard)
  shedLoad(app, load, { connections: facilities.db.maxConnections, slowMs: slowDatabaseMs })
  limitStreams(app, connections.maxStreams)
  parseJsonBodies(app)
  ruleBrowsers(app, { isStrict: certificate !== null && !loopbackOnly })
  if (loopbackOnly) guardHost(app, publicUrl)
  guardLoops(app)
  answerOtherOrigins(app, allowedOrigins)
  guardOrigin(app, { allowedOrigins, publicUrl })
  showPages(app, dashboard)
}

/** Identifies the caller of each request, and applies the caller's limits. */
function admitCallers(
  app: App,
  { facilities, callersDb, keys, people, remoteWorkers, installation, log }: AppOptions,
): void {
  const authenticators: readonly Authenticator[] = [
    keyAuthenticator(keys),
    sessionAuthenticator({ sessions: people.sessions, keys, publicUrl: installation.publicUrl }),
  ]
  const projects = new ProjectBook({ db: callersDb, wakeUps: facilities.wakeUps })
  const count = requestCounter(app, { quotas: new RequestQuotas({ db: callersDb, log }), projects })
  authenticateRequests(app, { facilities, keys, projects, authenticators, remoteWorkers, count })
}

/** Reads bodies of requests that were admitted, and finishes responses. */
function handleBodies(app: App): void {
  takeLargeBodiesInTurn(app)
  guardText(app)
  app.addHook('onSend', async (request, reply) => setCommonHeaders(request, reply))
  compressAnswers(app)
}

/** Raises the level of Fastify's log: at level info it only repeats the startup banner. */
function quieter(log: Logger): FastifyBaseLogger {
  return log.child({}, { level: log.level === 'info' ? 'warn' : log.level }) as FastifyBaseLogger
}
