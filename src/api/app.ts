/** The HTTP application: routes, validation, documentation and the guards in front of them. */

import type { IncomingMessage, ServerResponse } from 'node:http'
import fastifySwagger from '@fastify/swagger'
import fastify, {
  type FastifyBaseLogger,
  type FastifyInstance,
  LogController,
  type RawServerDefault,
} from 'fastify'
import { jsonSchemaTransform, type ZodTypeProvider } from 'fastify-type-provider-zod'
import { uuidv7 } from '../core/ids.ts'
import type { Logger } from '../runtime/logger.ts'
import type { RemoteWorkers } from '../transport/remote-workers.ts'
import type { SubscriptionTester } from '../transport/subscription-tester.ts'
import { BODY_LIMIT, parseJsonBodies } from './body-parsing.ts'
import { compressAnswers } from './compression.ts'
import { type ConnectionLimits, timeoutsOf } from './connection-limits.ts'
import type { DashboardFiles } from './dashboard-files.ts'
import { documentation, finishDocument } from './documentation.ts'
import { handleErrors, refuse, setCommonHeaders, toRefusal } from './errors.ts'
import { guardHost } from './host-guard.ts'
import { takeLargeBodiesInTurn } from './large-bodies.ts'
import { guardLoops } from './loop-guard.ts'
import type { Context } from './operations/context.ts'
import { guardOrigin } from './origin-guard.ts'
import type { Readiness } from './readiness.ts'
import { auditRoutes } from './routes/audit.ts'
import { backfillRoutes } from './routes/backfills.ts'
import { blackoutRoutes } from './routes/blackouts.ts'
import { bulkRoutes } from './routes/bulk.ts'
import { changeTaskRoutes } from './routes/change-tasks.ts'
import { clusterRoutes } from './routes/cluster.ts'
import { compatibleTaskRoutes } from './routes/compatible-tasks.ts'
import { createTaskRoutes } from './routes/create-tasks.ts'
import { dashboardRoutes } from './routes/dashboard.ts'
import { deadLetterRoutes } from './routes/dead-letters.ts'
import { documentationRoutes } from './routes/documentation.ts'
import { eventRoutes } from './routes/events.ts'
import { healthRoutes } from './routes/health.ts'
import { idRoutes } from './routes/ids.ts'
import { jobRoutes } from './routes/jobs.ts'
import { ledgerRoutes } from './routes/ledger.ts'
import { projectRoutes } from './routes/project.ts'
import { queueRoutes } from './routes/queues.ts'
import { readTaskRoutes } from './routes/read-tasks.ts'
import { reportRoutes } from './routes/reports.ts'
import { runRoutes } from './routes/runs.ts'
import { scheduleRoutes } from './routes/schedules.ts'
import { type Installation, serverRoutes } from './routes/server.ts'
import { signingSecretRoutes } from './routes/signing-secrets.ts'
import { statsRoutes } from './routes/stats.ts'
import { streamRoutes } from './routes/stream.ts'
import { subscriptionRoutes } from './routes/subscriptions.ts'
import { taskRunRoutes } from './routes/task-runs.ts'
import { versionRoutes } from './routes/versions.ts'
import { whyRoutes } from './routes/why.ts'
import { workerRoutes } from './routes/worker.ts'
import { serializeAnswers } from './serialization.ts'
import { answerUnreadable } from './socket-errors.ts'
import { handleUnknownRoutes } from './unknown-routes.ts'
import { validatorCompiler } from './validation/parse.ts'
import { guardText } from './validation/text.ts'

export type App = FastifyInstance<
  RawServerDefault,
  IncomingMessage,
  ServerResponse,
  FastifyBaseLogger,
  ZodTypeProvider
>

export interface AppOptions {
  readonly context: Context
  readonly readiness: Readiness
  /** Attends to workers of the users' own. */
  readonly remoteWorkers: RemoteWorkers
  /** Tries subscriptions out. */
  readonly tester: SubscriptionTester
  readonly log: Logger
  readonly installation: Installation
  readonly connections: ConnectionLimits
  /** What is shown to people; null without a built dashboard. */
  readonly dashboard: DashboardFiles | null
}

/** Longer than any key or id, so that a parameter that is too long is refused by its schema. */
const MAX_PARAM_CHARACTERS = 8_192

export async function createApp({
  context,
  readiness,
  remoteWorkers,
  tester,
  log,
  installation,
  connections,
  dashboard,
}: AppOptions): Promise<App> {
  const app: App = fastify({
    loggerInstance: quieter(log),
    logController: new LogController({ disableRequestLogging: true }),
    bodyLimit: BODY_LIMIT,
    ...timeoutsOf(connections),
    routerOptions: { maxParamLength: MAX_PARAM_CHARACTERS },
    genReqId: () => uuidv7(),
    forceCloseConnections: 'idle',
    frameworkErrors: (error, request, reply) => refuse(toRefusal(error, request), request, reply),
    clientErrorHandler: answerUnreadable,
  }).withTypeProvider<ZodTypeProvider>()
  app.setValidatorCompiler(validatorCompiler)
  app.server.maxConnections = connections.maxConnections
  serializeAnswers(app)
  handleErrors(app)
  handleUnknownRoutes(app, dashboard)
  parseJsonBodies(app)
  if (installation.loopbackOnly) guardHost(app)
  guardLoops(app)
  guardOrigin(app, installation.allowedOrigins)
  takeLargeBodiesInTurn(app)
  guardText(app)
  app.addHook('onSend', async (request, reply) => setCommonHeaders(request, reply))
  compressAnswers(app)
  dashboardRoutes(app, dashboard)

  await app.register(fastifySwagger, {
    openapi: documentation(installation.version),
    transform: jsonSchemaTransform,
    transformObject: finishDocument,
  })
  createTaskRoutes(app, context)
  await app.register(async (scope) => bulkRoutes(scope as App, context))
  readTaskRoutes(app, context)
  changeTaskRoutes(app, context)
  versionRoutes(app, context)
  backfillRoutes(app, context)
  taskRunRoutes(app, context)
  ledgerRoutes(app, context)
  whyRoutes(app, context)
  runRoutes(app, context)
  idRoutes(app, context)
  scheduleRoutes(app, context)
  queueRoutes(app, context)
  blackoutRoutes(app, context)
  signingSecretRoutes(app, context)
  clusterRoutes(app, context)
  serverRoutes(app, context, installation)
  statsRoutes(app, context)
  projectRoutes(app, context)
  auditRoutes(app, context)
  streamRoutes(app, context, log)
  workerRoutes(app, context, remoteWorkers)
  await app.register(async (scope) => reportRoutes(scope as App, remoteWorkers))
  eventRoutes(app, context, log)
  subscriptionRoutes(app, context, tester)
  deadLetterRoutes(app, context)
  healthRoutes(app, readiness)
  jobRoutes(app, context)
  await app.register(async (scope) => compatibleTaskRoutes(scope as App, context))
  await documentationRoutes(app)
  await app.ready()
  return app
}

/** Fastify tells at level info what the banner tells anyway. */
function quieter(log: Logger): FastifyBaseLogger {
  return log.child({}, { level: log.level === 'info' ? 'warn' : log.level }) as FastifyBaseLogger
}
