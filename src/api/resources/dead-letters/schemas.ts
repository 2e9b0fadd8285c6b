import { z } from 'zod'
import { GROUPINGS } from '../../../core/run/grouping.ts'
import { parseInstant } from '../../../core/schedule/instant.ts'
import { formatCount } from '../../../core/words/time.ts'
import { MAX_FORECAST } from '../../../operations/dead-letters/dead-letters.ts'
import { Instant, Uuid } from '../../../operations/validation/values.ts'
import { REDRIVE_STATES } from '../../../store/history/redrives.ts'
import { Cursor, Limit } from '../../http/schemas/page.ts'
import { Run } from '../runs/schemas.ts'

const Stored = z.string().meta({ format: 'date-time' })
const MAX_RUN_IDS = 1_000

const Fingerprint = z
  .string()
  .regex(/^[0-9a-f]{16}$/, 'must be the fingerprint of a group, 16 hexadecimal digits')
  .meta({ example: '3f1c0a9b7e25d4c8' })

/** True if either is not an instant, which is reported at its own field. */
const isOrdered = ({ from, to }: { from?: string | undefined; to?: string | undefined }) => {
  const [begin, end] = [parseInstant(from ?? ''), parseInstant(to ?? '')]
  return !begin.ok || !end.ok || begin.at < end.at
}
const unordered = { path: ['to'], message: 'must be after from' }

const which = {
  taskId: Uuid.optional().describe('Only runs of this task.'),
  fingerprint: Fingerprint.optional().describe('Only runs that failed with this error.'),
  from: Instant.optional().describe('Only runs that ended at or after this time.'),
  to: Instant.optional().describe('Only runs that ended before this time.'),
}

export const ListDeadLetters = z
  .strictObject({ ...which, limit: Limit, cursor: Cursor })
  .refine(isOrdered, unordered)

export const GroupDeadLetters = z
  .strictObject({ by: z.enum(GROUPINGS).default('error'), ...which, limit: Limit })
  .refine(isOrdered, unordered)

export const DeadLetterFilter = z
  .strictObject({
    ...which,
    runIds: z.array(Uuid).min(1).max(MAX_RUN_IDS).optional().describe('Only these runs.'),
  })
  .refine(isOrdered, unordered)
  .describe('All given conditions must match. An empty filter matches every dead letter.')
  .meta({ id: 'DeadLetterFilter' })
export type DeadLetterFilter = z.output<typeof DeadLetterFilter>

export const DeadLetter = Run.extend({
  fingerprint: Fingerprint.describe('Identifies runs that failed with the same error.'),
}).meta({ id: 'DeadLetter' })

export const DeadLetterPage = z
  .object({ items: z.array(DeadLetter), nextCursor: z.string().nullable() })
  .meta({ id: 'DeadLetterPage' })

export const DeadLetterGroup = z
  .object({
    key: z.string().describe('The fingerprint, the task id, or the hour.'),
    code: z.string().nullable(),
    status: z.int().nullable().describe('HTTP status of the response, if there was one.'),
    pattern: z.string().nullable().describe('Error message without the parts that differ between runs.'),
    taskId: Uuid.nullable().describe('Set if all runs belong to one task.'),
    taskName: z.string().nullable(),
    count: z.int(),
    tasks: z.int().describe('Number of different tasks.'),
    firstAt: Stored,
    lastAt: Stored,
    sample: z
      .object({ runId: Uuid, message: z.string().nullable() })
      .describe('The latest run of the group.'),
  })
  .meta({ id: 'DeadLetterGroup' })

export const DeadLetterGroups = z
  .object({
    items: z.array(DeadLetterGroup).describe('Largest group first.'),
    isComplete: z
      .boolean()
      .describe('False if only the latest dead letters were examined and there are more.'),
  })
  .meta({ id: 'DeadLetterGroups' })

export const DismissDeadLetters = z
  .strictObject({
    filter: DeadLetterFilter,
    dryRun: z.boolean().optional(),
    cursor: Cursor.describe('`nextCursor` of the previous response, to continue there.'),
  })
  .meta({ id: 'DismissDeadLetters' })

export const Dismissed = z
  .object({
    count: z.int().describe('Number of runs that were dismissed, or would be.'),
    isComplete: z.boolean().describe('False if more runs may match; repeat the request with `nextCursor`.'),
    nextCursor: z.string().nullable().describe('Null if `isComplete`.'),
  })
  .meta({ id: 'Dismissed' })

export const RedriveDeadLetters = z
  .strictObject({
    filter: DeadLetterFilter,
    rate: z
      .number()
      .min(0.01)
      .max(100)
      .optional()
      .describe('Maximum number of reruns per second. Default 10.'),
    dryRun: z.boolean().optional().describe('Only count the runs.'),
  })
  .meta({ id: 'RedriveDeadLetters' })
export type RedriveDeadLetters = z.output<typeof RedriveDeadLetters>

export const RedriveForecast = z
  .object({
    count: z.int().describe(`Number of matching runs, counted up to ${formatCount(MAX_FORECAST)}.`),
    endedTasks: z.int().describe('Matching runs that cannot be rerun because their task has ended.'),
    isComplete: z.boolean().describe('False if more runs may match.'),
  })
  .meta({ id: 'RedriveForecast' })

export const Redrive = z
  .object({
    id: Uuid,
    state: z
      .enum(REDRIVE_STATES)
      .describe(
        'expired: after a day, dead letters still waited because another run of their task had not ended.',
      ),
    filter: DeadLetterFilter,
    rate: z.number(),
    redriven: z.int(),
    refused: z
      .int()
      .describe(
        'Runs that cannot be rerun because their task has ended or no longer accepts their override.',
      ),
    waiting: z.int().describe('Runs that are waiting for another run of their task to end.'),
    lastError: z.string().nullable(),
    createdAt: Stored,
    endedAt: Stored.nullable(),
  })
  .meta({ id: 'Redrive' })
export type Redrive = z.output<typeof Redrive>

export const RedrivePage = z
  .object({ items: z.array(Redrive), nextCursor: z.string().nullable() })
  .meta({ id: 'RedrivePage' })
export const ListRedrives = z.strictObject({ limit: Limit, cursor: Cursor })
