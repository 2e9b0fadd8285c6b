/** The shapes of reports about single attempts. */

import { z } from 'zod'
import { MAX_FAILURE_CHARACTERS } from '../../core/run/outcome.ts'
import { Uuid } from '../../operations/validation/values.ts'

const ofAttempt = {
  task_id: Uuid.describe('The id of the task in `/v1`, as in the token.'),
  pod_name: z.string().describe('Where the program runs, as in the token.'),
}

export const HealthCheck = z
  .object({
    ...ofAttempt,
    last_time_health_check: z.string().meta({ format: 'date-time' }),
    worker_finished: z.boolean(),
  })
  .meta({ id: 'HealthCheck' })

export const StatusUpdate = z
  .strictObject({
    status: z.enum(['success', 'failure']),
    reason: z
      .string()
      .min(1)
      .max(MAX_FAILURE_CHARACTERS)
      .optional()
      .describe('Why it failed; only with `failure`.'),
  })
  .refine(({ status, reason }) => status === 'failure' || reason === undefined, {
    path: ['reason'],
    message: 'is only for a failure',
  })
  .meta({ id: 'StatusUpdate' })

export const UpdatedStatus = z
  .object({
    ...ofAttempt,
    worker_finished: z.boolean(),
    is_producible: z.boolean().describe('Whether the attempt will be retried.'),
  })
  .meta({ id: 'UpdatedStatus' })
