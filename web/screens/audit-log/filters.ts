/** Filters of the audit log in the address. */
import {
  AUDIT_ACTIONS,
  AUDIT_SUBJECTS,
  type AuditAction,
  type AuditSubject,
} from '../../../src/core/audit-log/audit-action.ts'
import { AUDIT_SCOPES, type AuditScope } from '../../api/audit-log.ts'
import { choiceIn, type RawSearch, textIn } from '../../app/search.ts'
import { BETWEEN, SPANS, type Span } from '../../components/span.ts'

export interface AuditFilters {
  readonly scope?: Exclude<AuditScope, 'project'>
  readonly action?: AuditAction
  readonly kind?: AuditSubject
  readonly subject?: string
  readonly actor?: string
  /** How far back the list reaches, or that it reaches from one instant to another. */
  readonly since?: Span | typeof BETWEEN
  readonly from?: string
  readonly to?: string
}

export function auditFilters(search: RawSearch): AuditFilters {
  const action = choiceIn(search, 'action', AUDIT_ACTIONS)
  const kind = choiceIn(search, 'kind', AUDIT_SUBJECTS)
  const subject = textIn(search, 'subject')
  const actor = textIn(search, 'actor')
  return {
    ...scopeIn(search),
    ...(action ? { action } : {}),
    ...(kind ? { kind } : {}),
    ...(subject ? { subject } : {}),
    ...(actor ? { actor } : {}),
    ...timesIn(search),
  }
}

export function scopeIn(search: RawSearch): Pick<AuditFilters, 'scope'> {
  const scope = choiceIn(search, 'scope', AUDIT_SCOPES)
  return scope === undefined || scope === 'project' ? {} : { scope }
}

/** An instant means a range between instants, even if the address does not say so. */
function timesIn(search: RawSearch): Pick<AuditFilters, 'since' | 'from' | 'to'> {
  const since = choiceIn(search, 'since', [...SPANS, BETWEEN])
  if (since !== undefined && since !== BETWEEN) return { since }
  const from = instantIn(search, 'from')
  const to = instantIn(search, 'to')
  if (since === undefined && !from && !to) return {}
  return { since: BETWEEN, ...(from ? { from } : {}), ...(to ? { to } : {}) }
}

function instantIn(search: RawSearch, name: string): string | undefined {
  const text = textIn(search, name)
  return Number.isNaN(Date.parse(text ?? '')) ? undefined : text
}
