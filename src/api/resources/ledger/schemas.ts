import { z } from 'zod'
import { LEDGER_STATES } from '../../../core/ledger/ledger.ts'
import { RUN_STATES } from '../../../core/run/run.ts'
import { Instant, isInOrder, Uuid } from '../../../operations/validation/values.ts'
import { Cursor, Limit } from '../../http/schemas/page.ts'

const Stored = z.string().meta({ format: 'date-time' })

export const ReadLedger = z
  .strictObject({
    from: Instant.optional().describe(
      'Default: a day before `to`, or less of a task that is due very often.',
    ),
    to: Instant.optional().describe('Default: now. It may lie ahead.'),
    show: z
      .enum([...LEDGER_STATES, 'problems'])
      .optional()
      .describe('Only entries in this state; `problems` for all that are not in order.'),
    limit: Limit,
    cursor: Cursor,
  })
  .refine(isInOrder, { path: ['to'], message: 'must be after from' })

export const LedgerEntry = z
  .object({
    state: z.enum(LEDGER_STATES),
    at: Stored.describe('When it was due.'),
    until: Stored.nullable().describe('The last one, where the entry speaks for several in a row.'),
    count: z.int(),
    version: z.int().describe('The version of the task that it belongs to.'),
    reason: z.string().nullable().describe('Why it was skipped, or failed without having run.'),
    runIds: z.array(Uuid).describe('The runs behind it; several when it is doubled.'),
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
      'History before this instant was dropped: what was due earlier is not judged.',
    ),
    isInOrder: z.boolean().describe('Nothing is missing, doubled or unexpected.'),
    sentence: z.string(),
    expected: z.int().describe('Occurrences that the task owed or owes in this stretch.'),
    accounted: z
      .int()
      .describe(
        'Those of them that ran, are on their way, were skipped with a reason, or wait for their time.',
      ),
    counts: z.object(
      Object.fromEntries(LEDGER_STATES.map((state) => [state, z.int()])) as Record<
        (typeof LEDGER_STATES)[number],
        z.ZodInt
      >,
    ),
    manual: z.int().describe('Runs that somebody asked for in this stretch. They are no occurrences.'),
    items: z.array(LedgerEntry),
    nextCursor: z.string().nullable(),
  })
  .meta({ id: 'Ledger' })
export type Ledger = z.output<typeof Ledger>
