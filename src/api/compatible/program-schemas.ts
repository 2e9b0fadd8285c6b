/** The shapes of tasks that run an uploaded program. */

import { z } from 'zod'
import { TASK_FIELDS } from '../../core/task/fields.ts'
import { MAX_INTEGER } from '../../core/values/integer.ts'
import { Instant } from '../../operations/validation/values.ts'

const MAX_RETRIES = 3

const Stored = z.string().meta({ format: 'date-time' })
const TaskNumber = z.int().min(1).max(MAX_INTEGER).describe('Number of the task in its project.')

export const CreateProgramTask = z
  .strictObject({
    schedule_at: Instant.nullish().describe('When to run. Null or omitted: as soon as the file is uploaded.'),
    total_retry: z
      .int()
      .min(0)
      .max(MAX_RETRIES)
      .optional()
      .describe(`Maximum number of retries. Default ${MAX_RETRIES}.`),
    tracing_id: z
      .string()
      .regex(TASK_FIELDS.tracingId.kind.pattern, TASK_FIELDS.tracingId.kind.rule)
      .nullish(),
  })
  .meta({ id: 'CreateProgramTask' })
export type CreateProgramTask = z.output<typeof CreateProgramTask>

export const DEFAULT_RETRIES = MAX_RETRIES

export const NamedProgramTask = z.strictObject({ id: TaskNumber }).meta({ id: 'NamedProgramTask' })

export const UpdateProgramTask = z
  .strictObject({
    id: TaskNumber,
    is_producible: z
      .boolean()
      .describe('True reruns a task that has ended; false prevents a task from running.'),
  })
  .meta({ id: 'UpdateProgramTask' })

export const ProgramTask = z
  .object({
    id: TaskNumber,
    schedule_at: Stored.nullable(),
    picked_at_by_producers: z.array(Stored).describe('When the scheduler fired each attempt.'),
    picked_at_by_workers: z.array(Stored).describe('When a worker started each attempt.'),
    successful_at: Stored.nullable(),
    failed_ats: z.array(Stored).describe('When each failed attempt ended.'),
    failed_reasons: z.array(z.string()).describe('Why each of them failed, in the same order.'),
    total_retry: z.int(),
    current_retry: z.int().describe('Retries of the latest run so far.'),
    tracing_id: z.string().nullable(),
    file_uploaded: z.boolean(),
    is_producible: z
      .boolean()
      .describe('Whether the task will be run: it is not due yet, waits for its file, or will be retried.'),
  })
  .meta({ id: 'ProgramTask' })
export type ProgramTask = z.output<typeof ProgramTask>

export const UploadUrl = z
  .object({
    id: TaskNumber,
    url: z.string().meta({ format: 'uri' }).describe('Address for `PUT`. It needs no API key.'),
    expires_at: Stored,
  })
  .meta({ id: 'UploadUrl' })

export const FileStatus = z.object({ id: TaskNumber, file_uploaded: z.boolean() }).meta({ id: 'FileStatus' })
