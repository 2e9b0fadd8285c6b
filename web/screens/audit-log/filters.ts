/** Filters of the audit log in the address. */
import {
  AUDIT_ACTIONS,
  AUDIT_SUBJECTS,
  type AuditAction,
  type AuditSubject,
} from '../../../src/core/audit-log/audit-action.ts'
import { AUDIT_SCOPES, type AuditScope } from '../../api/audit-log.ts'
import { choiceIn, type RawSearch, textIn } from '../../app/search.ts'
import { SPANS, type Span } from '../../components/span.ts'

export interface AuditFilters {
  readonly scope?: Exclude<AuditScope, 'project'>
  readonly action?: AuditAction
  readonly kind?: AuditSubject
  readonly subject?: string
  readonly actor?: string
  readonly since?: Span
}

export function auditFilters(search: RawSearch): AuditFilters {
  const action = choiceIn(search, 'action', AUDIT_ACTIONS)
  const kind = choiceIn(search, 'kind', AUDIT_SUBJECTS)
  const subject = textIn(search, 'subject')
  const actor = textIn(search, 'actor')
  const since = choiceIn(search, 'since', SPANS)
  return {
    ...scopeIn(search),
    ...(action ? { action } : {}),
    ...(kind ? { kind } : {}),
    ...(subject ? { subject } : {}),
    ...(actor ? { actor } : {}),
    ...(since ? { since } : {}),
  }
}

export function scopeIn(search: RawSearch): Pick<AuditFilters, 'scope'> {
  const scope = choiceIn(search, 'scope', AUDIT_SCOPES)
  return scope === undefined || scope === 'project' ? {} : { scope }
}
