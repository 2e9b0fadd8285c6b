import { z } from 'zod'
import { FINDING_KINDS } from '../../../core/ledger/finding.ts'
import { Uuid } from '../../../operations/validation/values.ts'
import { Cursor, Limit } from '../../http/schemas/page.ts'

const Stored = z.string().meta({ format: 'date-time' })

/** The progress of the audit. */
export const AuditSummary = z
  .object({
    roundEndedAt: Stored.nullable().describe('When the latest check of all tasks ended.'),
    roundMs: z.int().nullable().describe('Duration of that check.'),
    tasks: z
      .int()
      .nullable()
      .describe(
        'Number of recurring tasks in that check, in all projects. Null unless the caller has a role in the installation.',
      ),
    oneOffsEndedAt: Stored.nullable().describe('When the latest check of all one-off tasks ended.'),
    historyEndedAt: Stored.nullable().describe('When the history of the last 24 hours was last checked.'),
    repaired: z.int().describe('Inconsistencies found and repaired in the last 24 hours.'),
    unrepaired: z.int().describe('Inconsistencies found and not repaired in the last 24 hours.'),
    minutesLost: z.int().describe('Minutes of the last 24 hours with missing history rows.'),
    missed: z.int().describe('Occurrences that did not run because of these findings.'),
  })
  .meta({ id: 'AuditSummary' })
export type AuditSummary = z.output<typeof AuditSummary>

const AuditFinding = z
  .object({
    id: Uuid,
    taskId: Uuid.nullable().describe(
      'Null for `history_rows_lost`: the tasks of the missing rows are unknown.',
    ),
    taskName: z.string().nullable(),
    runId: Uuid.nullable().describe('The run that was found, or the row that was restored.'),
    kind: z.enum(FINDING_KINDS),
    foundAt: Stored,
    isRepaired: z.boolean(),
    missed: z
      .int()
      .describe(
        'Occurrences that did not run because of this finding. They are recorded with the reason `lost`: as skipped, or as failed under the misfire policy `fail`.',
      ),
    detail: z.string(),
  })
  .meta({ id: 'AuditFinding' })
export type AuditFinding = z.output<typeof AuditFinding>

export const ListFindings = z.strictObject({
  taskId: Uuid.optional().describe('Only findings about this task.'),
  limit: Limit,
  cursor: Cursor,
})

export const Findings = z
  .object({ summary: AuditSummary, items: z.array(AuditFinding), nextCursor: z.string().nullable() })
  .meta({ id: 'Findings' })
