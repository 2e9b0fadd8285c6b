/** How long a project keeps its history and its audit log, as it is shown and set. */
import { z } from 'zod'
import { parseRetention } from '../../../core/values/retention.ts'

const Days = z
  .string()
  .superRefine((text, context) => {
    const parsed = parseRetention(text)
    if (!parsed.ok) context.addIssue({ code: 'custom', message: parsed.reason })
  })
  .meta({ example: '90d' })

const DOCS = {
  history: 'How long runs that have ended, with their attempts and logs, are kept, in whole days',
  auditLog: 'How long entries of the audit log are kept, in whole days',
}

export const Retention = z
  .object({
    history: z.string().nullable().describe(`${DOCS.history}; null for \`--history-days\`.`),
    auditLog: z.string().nullable().describe(`${DOCS.auditLog}; null for \`--audit-days\`.`),
  })
  .meta({ id: 'Retention' })

export const EditRetention = z
  .strictObject({
    history: Days.nullable()
      .optional()
      .describe(`${DOCS.history}, from \`1d\` to \`36500d\`. Null for \`--history-days\`.`),
    auditLog: Days.nullable()
      .optional()
      .describe(`${DOCS.auditLog}, from \`1d\` to \`36500d\`. Null for \`--audit-days\`.`),
  })
  .refine((retention) => Object.keys(retention).length > 0, 'must name history or auditLog')
  .describe('Data that a shorter retention deleted is not restored by a longer one.')
  .meta({ id: 'EditRetention' })
