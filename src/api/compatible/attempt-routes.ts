/**
 * Routes with which the runner of a program reports that it is alive and how it ended. They need the token of the attempt,
 * which is valid for nothing else. docs/reference/compatibility.md describes them.
 */
import type { FastifyRequest } from 'fastify'
import type { TokenAttempt } from '../../core/access/token-attempt.ts'
import { Refusal } from '../../core/errors.ts'
import { utc } from '../../core/values/utc.ts'
import { NoBody } from '../../operations/validation/values.ts'
import type { AttemptReports } from '../../transport/attempt-reports.ts'
import type { App } from '../app.ts'
import { problems } from '../http/schemas/problem-document.ts'
import { HealthCheck, StatusUpdate, UpdatedStatus } from './attempt-schemas.ts'

const tags = ['compatibility']
const refusals = problems(401, 409, 410, 413, 415)

const healthCheck = {
  operationId: 'healthCheck',
  tags,
  summary: 'Send a heartbeat of an attempt',
  description:
    'After its first heartbeat, an attempt must send one every 5 seconds. If they stop, the attempt is lost, and the run is started elsewhere within 20 seconds.',
  body: NoBody,
  response: { 200: HealthCheck, ...refusals },
}

const updateStatus = {
  operationId: 'updateStatus',
  tags,
  summary: 'Report how an attempt ended',
  description: 'Only the first report counts. A later one is refused and changes nothing.',
  body: StatusUpdate,
  response: { 200: UpdatedStatus, ...refusals },
}

export function attemptRoutes(app: App, attempts: AttemptReports): void {
  app.post(
    '/health_check',
    { schema: healthCheck, config: { access: 'token', isByAttempt: true } },
    async (request) => {
      const attempt = attemptFrom(request)
      const at = await attempts.beat(attempt)
      return { ...presentAttempt(attempt), last_time_health_check: utc(at), worker_finished: false }
    },
  )

  app.post(
    '/update_status',
    { schema: updateStatus, config: { access: 'token', isByAttempt: true } },
    async (request) => {
      const attempt = attemptFrom(request)
      const { status, reason } = request.body
      const { isRetried } = await attempts.end(
        attempt,
        status === 'success' ? { isSuccess: true } : { isSuccess: false, reason: reason ?? NO_REASON },
      )
      return { ...presentAttempt(attempt), worker_finished: true, is_producible: isRetried }
    },
  )
}

const NO_REASON = 'The program failed without a reason.'

/** Returns the attempt that a request is about. The token of a worker does not identify one. */
function attemptFrom({ attempt }: FastifyRequest): TokenAttempt {
  if (attempt) return attempt
  throw new Refusal('unknown_token', 'Send the token of the attempt, not that of the worker.')
}

const presentAttempt = ({ taskId, podName }: TokenAttempt) => ({ task_id: taskId, pod_name: podName })
