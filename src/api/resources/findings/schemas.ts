import { z } from 'zod'
import { FINDING_KINDS } from '../../../core/ledger/finding.ts'
import { Uuid } from '../../../operations/validation/values.ts'
import { Cursor, Limit } from '../../http/schemas/page.ts'

const Stored = z.string().meta({ format: 'date-time' })

/** How the audit stands. */
export const AuditSummary = z
  .object({
    roundEndedAt: Stored.nullable().describe('When the latest round over all tasks was finished.'),
    roundMs: z.int().nullable().describe('How long that took.'),
    tasks: z.int().nullable().describe('Tasks that must always have a next row, of that round.'),
    oneOffsEndedAt: Stored.nullable().describe('When the latest round over all one-offs was finished.'),
    historyEndedAt: Stored.nullable().describe(
      'When the history of the last 24 hours was last counted again.',
    ),
    repaired: z.int().describe('Found out of order and put right within the last 24 hours.'),
    unrepaired: z.int().describe('Found out of order and not put right within the last 24 hours.'),
    minutesLost: z
      .int()
      .describe('Minutes whose history was found to have lost rows, within the last 24 hours.'),
    missed: z.int().describe('Occurrences that did not run because of those.'),
  })
  .meta({ id: 'AuditSummary' })
export type AuditSummary = z.output<typeof AuditSummary>

const AuditFinding = z
  .object({
    id: Uuid,
    taskId: Uuid.nullable().describe('Null for `history_rows_lost`: nothing tells whose rows are gone.'),
    taskName: z.string().nullable(),
    runId: Uuid.nullable().describe('The run that was found, or the row that was written.'),
    kind: z.enum(FINDING_KINDS),
    foundAt: Stored,
    isRepaired: z.boolean(),
    missed: z
      .int()
      .describe('Occurrences that did not run because of it. They are recorded as skipped, `lost`.'),
    detail: z.string(),
  })
  .meta({ id: 'AuditFinding' })
export type AuditFinding = z.output<typeof AuditFinding>

export const ListFindings = z.strictObject({
  taskId: Uuid.optional().describe('Only what concerns this task.'),
  limit: Limit,
  cursor: Cursor,
})

export const Findings = z
  .object({ summary: AuditSummary, items: z.array(AuditFinding), nextCursor: z.string().nullable() })
  .meta({ id: 'Findings' })
