/** All routes, in the order in which the documentation lists them. */
import fastifySwagger from '@fastify/swagger'
import type { App, AppOptions } from './app.ts'
import { attemptRoutes } from './compatible/attempt-routes.ts'
import { jobRoutes } from './compatible/jobs-routes.ts'
import { programRoutes } from './compatible/program-routes.ts'
import { compatibleTaskRoutes } from './compatible/tasks-routes.ts'
import type { DatabaseLoad } from './http/load/database-load.ts'
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
import { serverRoutes } from './resources/server/routes.ts'
import { signInRoutes } from './resources/sign-in/routes.ts'
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

export async function addRoutes(app: App, options: AppOptions, load: DatabaseLoad): Promise<void> {
  const { facilities, keys, people, remoteWorkers, log, installation } = options
  const { publicUrl } = installation
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
  subscriptionRoutes(app, options.tester)
  deadLetterRoutes(app)
  healthRoutes(app, options.readiness)
  jobRoutes(app)
  programRoutes(app, publicUrl)
  attemptRoutes(app, options.attemptReports)
  await app.register(async (scope) => compatibleTaskRoutes(scope as App))
  await documentationRoutes(app)
}
