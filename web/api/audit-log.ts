/** The audit log: who changed what. */
import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import type { AuditAction, AuditSubject } from '../../src/core/audit-log/audit-action.ts'
import { get, queryOf } from './client.ts'
import type { AuditEntry, AuditEntryWithChanges, Page } from './wire.ts'

const PAGE_SIZE = 50

/** Whose entries: of the project, of the installation itself, or of all. */
export const AUDIT_SCOPES = ['project', 'installation', 'all'] as const
export type AuditScope = (typeof AUDIT_SCOPES)[number]

/** What the list can be narrowed down to. */
export interface AuditFilter {
  readonly scope?: AuditScope | undefined
  readonly action?: AuditAction | undefined
  readonly subjectKind?: AuditSubject | undefined
  readonly subject?: string | undefined
  readonly actor?: string | undefined
  readonly from?: string | undefined
}

export const auditLogQuery = (filter: AuditFilter) =>
  infiniteQueryOptions({
    queryKey: ['audit-log', filter],
    queryFn: ({ pageParam, signal }) =>
      get<Page<AuditEntry>>(
        `/v1/audit-log${queryOf({ ...filter, limit: PAGE_SIZE, cursor: pageParam })}`,
        signal,
      ),
    initialPageParam: null as string | null,
    getNextPageParam: ({ nextCursor }) => nextCursor,
  })

/** An entry never changes. */
export const auditEntryQuery = (id: string, scope: AuditScope | undefined) =>
  queryOptions({
    queryKey: ['audit-entry', id, scope ?? null],
    queryFn: ({ signal }) =>
      get<AuditEntryWithChanges>(`/v1/audit-log/${encodeURIComponent(id)}${queryOf({ scope })}`, signal),
    staleTime: Number.POSITIVE_INFINITY,
  })
