/** The shapes of the calls on jobs. */
import { z } from 'zod'
import { Uuid } from '../../operations/validation/values.ts'

const UserId = z.string().min(1).max(200).describe('Owner of the job; `owner` in `/v1`.')
const Stored = z.string().meta({ format: 'date-time' })

export const SubmitJob = z
  .strictObject({
    user_id: UserId,
    schedule: z
      .string()
      .min(1)
      .max(1_000)
      .describe(
        'A cron expression, in UTC; an instant such as 2026-11-16T09:00:00Z; or an interval such as 5m.',
      )
      .meta({ example: '*/5 * * * *' }),
    code_location: z
      .string()
      .max(4_096)
      .describe('URL to call, or id of a file to run.')
      .meta({ example: 'https://example.com/job' }),
  })
  .meta({ id: 'SubmitJob' })
export type SubmitJob = z.output<typeof SubmitJob>

export const RetrieveAllJobs = z.strictObject({ user_id: UserId }).meta({ id: 'RetrieveAllJobs' })
export const DeleteJob = z.strictObject({ user_id: UserId, job_id: Uuid }).meta({ id: 'DeleteJob' })
export const GetExecHistory = z.strictObject({ job_id: Uuid }).meta({ id: 'GetExecHistory' })

export const Job = z
  .object({
    user_id: z.string(),
    job_id: Uuid,
    schedule: z.string(),
    code_location: z.string(),
    next_execution: Stored.nullable().describe('Null if there is no next execution.'),
  })
  .meta({ id: 'Job' })
export type Job = z.output<typeof Job>

export const DeletedJob = z.object({ user_id: z.string(), job_id: Uuid }).meta({ id: 'DeletedJob' })

export const EXECUTION_STATUSES = [
  'SCHEDULED',
  'RUNNING',
  'RETRYING',
  'COMPLETED',
  'FAILED',
  'CANCELLED',
  'SKIPPED',
] as const

export const Execution = z
  .object({
    job_id: Uuid,
    execution_id: Uuid,
    status: z.enum(EXECUTION_STATUSES),
    scheduled_for: Stored,
    started_at: Stored.nullable(),
    ended_at: Stored.nullable(),
  })
  .meta({ id: 'Execution' })
export type Execution = z.output<typeof Execution>
