/** The HTTP application: routes, validation, documentation and the guards in front of them. */

import type { IncomingMessage, ServerResponse } from 'node:http'
import fastifySwagger from '@fastify/swagger'
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
import { attemptRoutes } from './compatible/attempt-routes.ts'
import { jobRoutes } from './compatible/jobs-routes.ts'
import { programRoutes } from './compatible/program-routes.ts'
import { compatibleTaskRoutes } from './compatible/tasks-routes.ts'
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
import { limitRequests } from './http/request-limits.ts'
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
import { describeRoute, documentation, finishDocument } from './pages/documentation.ts'
import { documentationRoutes } from './pages/documentation-routes.ts'
import { auditLogRoutes } from './resources/audit-log/routes.ts'
import { backfillRoutes } from './resources/backfills/routes.ts'
import { blackoutRoutes } from './resources/blackouts/routes.ts'
import { deadLetterRoutes } from './resources/dead-letters/routes.ts'
import { eventRoutes } from './resources/events/routes.ts'
import { fileRoutes } from './resources/files/routes.ts'
import { findingRoutes } from './resources/findings/routes.ts'
import { healthRoutes } from './resources/health/routes.ts'
import { idRoutes } from './resources/ids/routes.ts'
import { keyRoutes } from './resources/keys/routes.ts'
import { ledgerRoutes } from './resources/ledger/routes.ts'
import { meRoutes } from './resources/me/routes.ts'
import { memberRoutes } from './resources/members/routes.ts'
import { clusterRoutes } from './resources/nodes/routes.ts'
import { statsRoutes } from './resources/overview/routes.ts'
import { peopleRoutes } from './resources/people/routes.ts'
import { projectRoutes } from './resources/projects/routes.ts'
import { queueRoutes } from './resources/queues/routes.ts'
import { logRoutes } from './resources/runs/log-routes.ts'
import { runRoutes } from './resources/runs/routes.ts'
import { scheduleRoutes } from './resources/schedules/routes.ts'
import { secretRoutes } from './resources/secrets/routes.ts'
import { type Installation, serverRoutes } from './resources/server/routes.ts'
import { type SignInOptions, signInRoutes } from './resources/sign-in/routes.ts'
import { signingSecretRoutes } from './resources/signing-secrets/routes.ts'
import { streamRoutes } from './resources/stream/routes.ts'
import { subscriptionRoutes } from './resources/subscriptions/routes.ts'
import { targetRoutes } from './resources/targets/routes.ts'
import { bulkRoutes } from './resources/tasks/bulk-routes.ts'
import { changeTaskRoutes } from './resources/tasks/change-routes.ts'
import { createTaskRoutes } from './resources/tasks/create-routes.ts'
import { readTaskRoutes } from './resources/tasks/read-routes.ts'
import { taskRunRoutes } from './resources/tasks/run-routes.ts'
import { versionRoutes } from './resources/versions/routes.ts'
import { whyRoutes } from './resources/why/routes.ts'
import { reportRoutes } from './resources/workers/report-routes.ts'
import { workerRoutes } from './resources/workers/routes.ts'

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

export async function createApp({
  facilities,
  callersDb,
  keys,
  people,
  readiness,
  remoteWorkers,
  attemptReports,
  tester,
  log,
  installation,
  connections,
  slowDatabaseMs,
  certificate,
  dashboard,
}: AppOptions): Promise<App> {
  const { publicUrl } = installation
  const authenticators: readonly Authenticator[] = [
    keyAuthenticator(keys),
    sessionAuthenticator({ sessions: people.sessions, keys, publicUrl }),
  ]
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
  const load = new DatabaseLoad({ db: facilities.db, slowMs: slowDatabaseMs, log })
  serializeAnswers(app)
  handleErrors(app)
  noteRefusedRequests(app, facilities.refusedRequests)
  handleUnknownRoutes(app, dashboard)
  shedLoad(app, load, { connections: facilities.db.maxConnections, slowMs: slowDatabaseMs })
  limitStreams(app, connections.maxStreams)
  parseJsonBodies(app)
  ruleBrowsers(app, { isStrict: certificate !== null && !installation.loopbackOnly })
  if (installation.loopbackOnly) guardHost(app, installation.publicUrl)
  guardLoops(app)
  answerOtherOrigins(app, installation.allowedOrigins)
  guardOrigin(app, { allowedOrigins: installation.allowedOrigins, publicUrl })
  showPages(app, dashboard)
  const projects = new ProjectBook({ db: callersDb, wakeUps: facilities.wakeUps })
  authenticateRequests(app, { facilities, keys, projects, authenticators, remoteWorkers })
  limitRequests(app, { quotas: new RequestQuotas({ db: callersDb, log }), projects })
  takeLargeBodiesInTurn(app)
  guardText(app)
  app.addHook('onSend', async (request, reply) => setCommonHeaders(request, reply))
  compressAnswers(app)
  dashboardRoutes(app, dashboard)

  await app.register(fastifySwagger, {
    openapi: documentation(installation.version),
    transform: describeRoute,
    transformObject: finishDocument,
  })
  createTaskRoutes(app)
  await app.register(async (scope) => bulkRoutes(scope as App))
  readTaskRoutes(app)
  changeTaskRoutes(app)
  versionRoutes(app)
  backfillRoutes(app)
  taskRunRoutes(app)
  ledgerRoutes(app)
  whyRoutes(app)
  runRoutes(app)
  logRoutes(app, facilities, log)
  idRoutes(app)
  scheduleRoutes(app)
  queueRoutes(app)
  targetRoutes(app)
  blackoutRoutes(app)
  secretRoutes(app)
  signingSecretRoutes(app)
  fileRoutes(app, publicUrl)
  clusterRoutes(app)
  serverRoutes(app, { installation, keys, load })
  statsRoutes(app)
  projectRoutes(app)
  keyRoutes(app)
  meRoutes(app)
  memberRoutes(app)
  peopleRoutes(app, people.sessions)
  signInRoutes(app, { ...people, db: facilities.db, keys, publicUrl })
  findingRoutes(app)
  auditLogRoutes(app)
  streamRoutes(app, facilities, log)
  workerRoutes(app, remoteWorkers)
  await app.register(async (scope) => reportRoutes(scope as App, remoteWorkers))
  eventRoutes(app, facilities, log)
  subscriptionRoutes(app, tester)
  deadLetterRoutes(app)
  healthRoutes(app, readiness)
  jobRoutes(app)
  programRoutes(app, publicUrl)
  attemptRoutes(app, attemptReports)
  await app.register(async (scope) => compatibleTaskRoutes(scope as App))
  await documentationRoutes(app)
  await app.ready()
  return app
}

/** Raises the level of Fastify's log: at level info it only repeats the startup banner. */
function quieter(log: Logger): FastifyBaseLogger {
  return log.child({}, { level: log.level === 'info' ? 'warn' : log.level }) as FastifyBaseLogger
}
