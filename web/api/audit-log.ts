/** The audit log: who changed what. */
import { queryOptions } from '@tanstack/react-query'
import type { AuditAction, AuditSubject } from '../../src/core/audit-log/audit-action.ts'
import { get, queryOf } from './client.ts'
import { inPages } from './pages.ts'
import type { AuditEntry, AuditEntryWithChanges } from './wire.ts'

const PAGE_SIZE = 50

/** Which entries to list: those of the project, of the installation itself, or all. */
export const AUDIT_SCOPES = ['project', 'installation', 'all'] as const
export type AuditScope = (typeof AUDIT_SCOPES)[number]

/** Filters of the audit log. */
export interface AuditFilter {
  readonly scope?: AuditScope | undefined
  readonly action?: AuditAction | undefined
  readonly subjectKind?: AuditSubject | undefined
  readonly subject?: string | undefined
  readonly actor?: string | undefined
  readonly from?: string | undefined
  readonly to?: string | undefined
}

export const auditLogQuery = (filter: AuditFilter) =>
  inPages<AuditEntry>({
    queryKey: ['audit-log', filter],
    path: '/v1/audit-log',
    filter: { ...filter },
    limit: PAGE_SIZE,
  })

/** Entries never change, so this never refetches. */
export const auditEntryQuery = (id: string, scope: AuditScope | undefined) =>
  queryOptions({
    queryKey: ['audit-entry', id, scope ?? null],
    queryFn: ({ signal }) =>
      get<AuditEntryWithChanges>(`/v1/audit-log/${encodeURIComponent(id)}${queryOf({ scope })}`, signal),
    staleTime: Number.POSITIVE_INFINITY,
  })
