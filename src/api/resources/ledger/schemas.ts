import { z } from 'zod'
import { LEDGER_STATES } from '../../../core/ledger/ledger.ts'
import { RUN_STATES } from '../../../core/run/run.ts'
import { Instant, isInOrder, Uuid } from '../../../operations/validation/values.ts'
import { Cursor, Limit } from '../../http/schemas/page.ts'

const Stored = z.string().meta({ format: 'date-time' })

export const ReadLedger = z
  .strictObject({
    from: Instant.optional().describe(
      'Default: a day before `to`, or less for a task that is due very often.',
    ),
    to: Instant.optional().describe('Default: now. May be in the future.'),
    show: z
      .enum([...LEDGER_STATES, 'problems'])
      .optional()
      .describe('Only entries in this state; `problems` for all irregularities.'),
    limit: Limit,
    cursor: Cursor,
  })
  .refine(isInOrder, { path: ['to'], message: 'must be after from' })

export const LedgerEntry = z
  .object({
    state: z.enum(LEDGER_STATES),
    at: Stored.describe('When it was due.'),
    until: Stored.nullable().describe('The last occurrence, if the entry covers several in a row.'),
    count: z.int(),
    version: z.int().describe('Version of the task that the occurrence belongs to.'),
    reason: z.string().nullable().describe('Why it was skipped, or failed without running.'),
    runIds: z.array(Uuid).describe('Runs of the occurrence; several if it is doubled.'),
    runState: z.enum(RUN_STATES).nullable(),
  })
  .meta({ id: 'LedgerEntry' })
export type LedgerEntry = z.output<typeof LedgerEntry>

export const Ledger = z
  .object({
    from: Stored,
    to: Stored,
    now: Stored,
    historyFrom: Stored.nullable().describe(
      'History before this time was deleted; earlier occurrences are not included.',
    ),
    isInOrder: z.boolean().describe('True if nothing is missing, doubled or unexpected.'),
    sentence: z.string(),
    expected: z.int().describe('Occurrences of the task in this range.'),
    accounted: z
      .int()
      .describe('Occurrences that ran, are in progress, were skipped with a reason, or are upcoming.'),
    counts: z.object(
      Object.fromEntries(LEDGER_STATES.map((state) => [state, z.int()])) as Record<
        (typeof LEDGER_STATES)[number],
        z.ZodInt
      >,
    ),
    manual: z.int().describe('Manual runs in this range. They are not occurrences.'),
    items: z.array(LedgerEntry),
    nextCursor: z.string().nullable(),
  })
  .meta({ id: 'Ledger' })
export type Ledger = z.output<typeof Ledger>
