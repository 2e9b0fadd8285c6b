import { utcOrNull } from '../../core/values/utc.ts'
import type { AuditSummary as AuditRow } from '../../store/audit/findings.ts'
import type { Context } from '../context.ts'

/**
 * Summarises the progress and findings of the audit. The number of tasks in all projects is shown only to callers with a role
 * in the installation.
 */
export const summariseAudit = (audit: AuditRow | undefined, { grant }: Pick<Context, 'grant'>) => ({
  roundEndedAt: utcOrNull(audit?.roundEndedAt ?? null),
  roundMs: audit?.roundMs ?? null,
  tasks: grant.installation === null ? null : (audit?.roundTasks ?? null),
  oneOffsEndedAt: utcOrNull(audit?.oneOffsEndedAt ?? null),
  historyEndedAt: utcOrNull(audit?.historyEndedAt ?? null),
  repaired: audit?.repaired ?? 0,
  unrepaired: audit?.unrepaired ?? 0,
  minutesLost: audit?.minutesLost ?? 0,
  missed: audit?.missed ?? 0,
})
