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
      .describe('permanently_failed is the last attempt of a run that has no retries left.'),
    outcome: z.enum(['completed', 'failed', 'timed_out', 'cancelled', 'worker_lost']),
    scheduledFor: Stored,
    startedAt: Stored.nullable().describe(
      'Null if the attempt was stopped before it started, or if its worker was lost and may not have started it.',
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
  taskName: z.string().nullable().describe('Name of the task, or its key if it has no name.'),
  retryOf: Uuid.nullable().describe('The run that this run repeats.'),
  kind: z.enum(['occurrence', 'manual', 'catchup', 'resume', 'backfill']),
  state: z.enum(RUN_STATES),
  reason: z.string().nullable().describe('Why the run was skipped.'),
  scheduledFor: Stored,
  startedAt: Stored.nullable().describe(
    'Start of the latest attempt; null while the run is waiting, or if that attempt may not have started.',
  ),
  endedAt: Stored.nullable(),
  retryAt: Stored.nullable(),
  latenessMs: z
    .int()
    .nullable()
    .describe(
      'Time between the due time (including jitter) and the start of the first attempt. Negative only if the database clock was set back.',
    ),
  attempt: z.int().describe('Attempts so far.'),
  retries: z.int().describe('Attempts made because earlier ones failed.'),
  losses: z.int().describe('Attempts that ended because their worker died.'),
  version: z.int(),
  fence: z.int(),
  workerId: Uuid.nullable(),
  cancelRequestedAt: Stored.nullable(),
  covers: z
    .object({ until: Stored, count: z.int().nullable() })
    .nullable()
    .describe(
      'Set if the skip covers several occurrences: the last of them, and how many (null if too many to count).',
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
      .describe('The action of the run: that of its version of the task, with the override applied.'),
    backfillId: Uuid.nullable().describe('The backfill that the run belongs to.'),
    override: z
      .unknown()
      .meta({ $ref: '#/components/schemas/TriggerTask' })
      .nullable()
      .describe('Overrides that the run was triggered with.'),
    attempts: z.array(Attempt),
    progress: z
      .object({
        fraction: z.number().nullable().describe('From 0 to 1.'),
        message: z.string().nullable(),
        at: Stored.describe('When the progress was reported.'),
      })
      .nullable()
      .describe('Progress of the current attempt. Only handlers report it.'),
    retriedAs: z.array(Uuid).describe('The latest 20 reruns of this run.'),
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
    taskId: Uuid.optional().describe('Only runs of this task, ordered by their due time.'),
    from: Instant.optional().describe('Only runs at or after this time, by the order of the list.'),
    to: Instant.optional().describe('Only runs before this time, by the order of the list.'),
    limit: Limit,
    cursor: Cursor,
  })
  .refine(isInOrder, { path: ['to'], message: 'must be after from' })
export type ListRuns = z.output<typeof ListRuns>
export const ListAttempts = z.strictObject({ limit: Limit, cursor: Cursor })
