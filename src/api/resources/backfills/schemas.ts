/** Schemas of backfills: requests, previews, and progress. */
import { z } from 'zod'
import {
  BACKFILL_ORDERS,
  BACKFILL_OVERLAPS,
  BACKFILL_STATES,
  MAX_BACKFILL_OCCURRENCES,
} from '../../../core/policy/backfill.ts'
import { INSTANTS_SHOWN } from '../../../operations/backfills/backfill-task.ts'
import { Instant, isInOrder, Rate, Uuid } from '../../../operations/validation/values.ts'
import { Cursor, Limit } from '../../http/schemas/page.ts'
import { Reason } from '../tasks/schemas.ts'

export const BackfillTask = z
  .strictObject({
    from: Instant.describe('Start of the range, inclusive.'),
    to: Instant.describe('End of the range, exclusive. Must not be in the future.'),
    dryRun: z.boolean().optional().describe('Only describe what would run.'),
    order: z.enum(BACKFILL_ORDERS).optional().describe('Default oldest_first.'),
    rate: Rate.optional().describe(
      'Maximum number of runs started per second, minute or hour, such as 10/s. Default: no limit.',
    ),
    overlap: z
      .enum(BACKFILL_OVERLAPS)
      .optional()
      .describe(
        'allow: runs may overlap. queue_all: each run starts when no other run of the task is active. Default allow if the task allows overlap, else queue_all.',
      ),
    maxRuns: z.int().min(1).max(MAX_BACKFILL_OCCURRENCES).optional().describe('Maximum number of runs.'),
    force: z.boolean().optional().describe('Also run occurrences that have completed. Default false.'),
    reason: Reason.optional(),
  })
  .refine(isInOrder, { path: ['to'], message: 'must be after from' })
  .meta({ id: 'BackfillTask' })
export type BackfillTask = z.output<typeof BackfillTask>

const Stored = z.string().meta({ format: 'date-time' })

export const BackfillPreview = z
  .object({
    occurrences: z.int().describe('Number of occurrences in the range.'),
    runs: z.int().describe('Number of runs that would be created.'),
    passedOver: z
      .int()
      .describe(
        'Occurrences that need no run: they have completed, have a live run, or are still to be fired by the schedule.',
      ),
    first: z.array(Stored).describe(`The first ${INSTANTS_SHOWN} occurrences that would run, in order.`),
  })
  .meta({ id: 'BackfillPreview' })
export type BackfillPreview = z.output<typeof BackfillPreview>

export const Backfill = z
  .object({
    id: Uuid,
    taskId: Uuid,
    state: z.enum(BACKFILL_STATES),
    version: z.int().describe('Version of the task that all runs use.'),
    from: Stored,
    to: Stored,
    order: z.enum(BACKFILL_ORDERS),
    rate: z.string().nullable(),
    overlap: z.enum(BACKFILL_OVERLAPS),
    maxRuns: z.int().nullable(),
    force: z.boolean(),
    reason: z.string().nullable(),
    madeBy: z.string().nullable(),
    createdAt: Stored,
    endedAt: Stored.nullable(),
    position: Stored.nullable().describe('Occurrence that the backfill has reached.'),
    occurrences: z.int().describe('Number of occurrences in the range.'),
    remaining: z.int().describe('Occurrences still to be processed; 0 once the backfill has ended.'),
    passedOver: z.int().describe('Occurrences that did not need a run.'),
    started: z.int().describe('Runs created so far: the sum of the five fields below.'),
    waiting: z.int(),
    running: z.int(),
    completed: z.int(),
    failed: z.int(),
    cancelled: z.int(),
  })
  .meta({ id: 'Backfill' })
export type Backfill = z.output<typeof Backfill>

export const BackfillPage = z
  .object({ items: z.array(Backfill), nextCursor: z.string().nullable() })
  .meta({ id: 'BackfillPage' })

export const ListBackfills = z.strictObject({ limit: Limit, cursor: Cursor })
