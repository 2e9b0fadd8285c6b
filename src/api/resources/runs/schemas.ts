import { z } from 'zod'
import { RUN_STATES } from '../../../core/run/run.ts'
import { Instant, isInOrder, Uuid } from '../../../operations/validation/values.ts'
import { Cursor, Limit } from '../../http/schemas/page.ts'

const Stored = z.string().meta({ format: 'date-time' })

export const Attempt = z
  .object({
    runId: Uuid,
    number: z.int(),
    status: z
      .enum(['completed', 'failed', 'permanently_failed'])
      .describe('permanently_failed is the last failed attempt of a run that gave up.'),
    outcome: z.enum(['completed', 'failed', 'timed_out', 'cancelled', 'worker_lost']),
    scheduledFor: Stored,
    startedAt: Stored.nullable().describe(
      'Null when it was stopped before it began, or when its worker was lost and may not have begun it.',
    ),
    endedAt: Stored,
    workerId: Uuid.nullable(),
    fence: z.int(),
    output: z.unknown(),
    error: z.unknown(),
  })
  .meta({ id: 'Attempt' })
export type Attempt = z.output<typeof Attempt>

const runFields = {
  id: Uuid,
  taskId: Uuid,
  taskName: z.string().nullable().describe('The name of its task, or its key when it has none.'),
  retryOf: Uuid.nullable().describe('The run that it was asked for to repeat.'),
  kind: z.enum(['occurrence', 'manual', 'catchup', 'resume', 'backfill']),
  state: z.enum(RUN_STATES),
  reason: z.string().nullable().describe('Why it was skipped.'),
  scheduledFor: Stored,
  startedAt: Stored.nullable().describe(
    'Of the latest attempt; null while the run waits, and when that attempt is not known to have begun.',
  ),
  endedAt: Stored.nullable(),
  retryAt: Stored.nullable(),
  latenessMs: z
    .int()
    .nullable()
    .describe(
      'From the due instant, jitter included, to the start of the first attempt that is known to have begun. Negative when it began early, which takes a database clock that was set back.',
    ),
  attempt: z.int().describe('Attempts so far.'),
  retries: z.int().describe('Attempts that were made because earlier ones failed.'),
  losses: z.int().describe('Attempts that ended with the death of their worker.'),
  version: z.int(),
  fence: z.int(),
  workerId: Uuid.nullable(),
  cancelRequestedAt: Stored.nullable(),
  covers: z
    .object({ until: Stored, count: z.int().nullable() })
    .nullable()
    .describe(
      'A skip that speaks for several occurrences: the last of them, and how many (null: too many to count).',
    ),
  output: z.unknown(),
  error: z.unknown(),
}

export const Run = z.object(runFields).meta({ id: 'Run' })
export type Run = z.output<typeof Run>

export const RunWithAttempts = z
  .object({
    ...runFields,
    action: z
      .unknown()
      .meta({ $ref: '#/components/schemas/Action' })
      .nullable()
      .describe('What it does: the action of its version of the task, with the override.'),
    backfillId: Uuid.nullable().describe('The backfill that it is one of.'),
    override: z
      .unknown()
      .meta({ $ref: '#/components/schemas/TriggerTask' })
      .nullable()
      .describe('What it was asked to do otherwise than the task says.'),
    attempts: z.array(Attempt),
    progress: z
      .object({
        fraction: z.number().nullable().describe('From 0 to 1.'),
        message: z.string().nullable(),
        at: Stored.describe('When it was said.'),
      })
      .nullable()
      .describe('How far the attempt in progress says it is; only handlers do.'),
    retriedAs: z.array(Uuid).describe('Runs that were asked for to repeat it: the latest 20.'),
  })
  .meta({ id: 'RunWithAttempts' })

export const RunPage = z
  .object({ items: z.array(Run), nextCursor: z.string().nullable() })
  .meta({ id: 'RunPage' })
export const AttemptPage = z
  .object({ items: z.array(Attempt), nextCursor: z.string().nullable() })
  .meta({ id: 'AttemptPage' })

export const ListRunsOfTask = z.strictObject({
  state: z.enum(RUN_STATES).optional(),
  limit: Limit,
  cursor: Cursor,
})

export const ListRuns = z
  .strictObject({
    state: z.enum(RUN_STATES).optional(),
    taskId: Uuid.optional().describe('Only runs of this task, in the order of their due instants.'),
    from: Instant.optional().describe('Only runs that stand at this instant or later.'),
    to: Instant.optional().describe('Only runs that stand before this instant.'),
    limit: Limit,
    cursor: Cursor,
  })
  .refine(isInOrder, { path: ['to'], message: 'must be after from' })
export type ListRuns = z.output<typeof ListRuns>
export const ListAttempts = z.strictObject({ limit: Limit, cursor: Cursor })
