/** Backfills: asking for one, what it would do, and how far it has come. */
import { z } from 'zod'
import {
  BACKFILL_ORDERS,
  BACKFILL_OVERLAPS,
  BACKFILL_STATES,
  MAX_BACKFILL_OCCURRENCES,
} from '../../../core/policy/backfill.ts'
import { parseRate } from '../../../core/values/rate.ts'
import { Instant, isInOrder, Uuid } from '../../../operations/validation/values.ts'
import { Cursor, Limit } from '../../http/schemas/page.ts'
import { Reason } from '../tasks/schemas.ts'

const Rate = z
  .string()
  .superRefine((text, context) => {
    const parsed = parseRate(text)
    if (!parsed.ok) context.addIssue({ code: 'custom', message: parsed.reason })
  })
  .meta({ example: '10/s', description: 'How many runs may begin by second, minute or hour, such as 10/s.' })

export const BackfillTask = z
  .strictObject({
    from: Instant.describe('The first instant of the range.'),
    to: Instant.describe('Where the range ends, itself not included. Not in the future.'),
    dryRun: z.boolean().optional().describe('Only say what it would do.'),
    order: z.enum(BACKFILL_ORDERS).optional().describe('Default oldest_first.'),
    rate: Rate.optional().describe(
      'How many may begin by second, minute or hour, such as 10/s. Default: as many as find a worker.',
    ),
    overlap: z
      .enum(BACKFILL_OVERLAPS)
      .optional()
      .describe(
        'allow: runs go on side by side. queue_all: each begins when nothing else of the task is active. Default allow if the task says so, else queue_all.',
      ),
    maxRuns: z.int().min(1).max(MAX_BACKFILL_OCCURRENCES).optional().describe('Stop after so many runs.'),
    force: z.boolean().optional().describe('Also for occurrences that have completed. Default false.'),
    reason: Reason.optional(),
  })
  .refine(isInOrder, { path: ['to'], message: 'must be after from' })
  .meta({ id: 'BackfillTask' })
export type BackfillTask = z.output<typeof BackfillTask>

const Stored = z.string().meta({ format: 'date-time' })

/** Instants that a dry run shows. */
export const INSTANTS_SHOWN = 10

export const BackfillPreview = z
  .object({
    occurrences: z.int().describe('How many the range holds.'),
    runs: z.int().describe('How many runs there would be.'),
    passedOver: z
      .int()
      .describe(
        'Occurrences that need none: they have completed, are live, or the schedule is still to come to them.',
      ),
    first: z
      .array(Stored)
      .describe(`The occurrences that would run first, in order: at most ${INSTANTS_SHOWN}.`),
  })
  .meta({ id: 'BackfillPreview' })
export type BackfillPreview = z.output<typeof BackfillPreview>

export const Backfill = z
  .object({
    id: Uuid,
    taskId: Uuid,
    state: z.enum(BACKFILL_STATES),
    version: z.int().describe('The version of the task that all its runs belong to.'),
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
    position: Stored.nullable().describe('The occurrence that it has come to.'),
    occurrences: z.int().describe('How many the range holds.'),
    remaining: z.int().describe('How many it has not come to yet; 0 once it has ended.'),
    passedOver: z.int().describe('Occurrences that needed no run.'),
    started: z.int().describe('Runs so far: the sum of the five below.'),
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
