/** How long a project keeps its data, as it is typed and printed; an empty value restores the setting of the server. */
import type { Command } from 'commander'

/** The flags as they are typed. */
export interface RetentionFlags {
  readonly keepHistory?: string
  readonly keepAuditLog?: string
}

export const addRetentionFlags = (command: Command): Command =>
  command
    .option('--keep-history <time>', 'How long history is kept, in whole days, such as 90d')
    .option('--keep-audit-log <time>', 'How long the audit log is kept, in whole days')

interface Retention {
  readonly history: string | null
  readonly auditLog: string | null
}

/** The settings that are the project's own, as facts to print; servers of release 0.1.0 answer none. */
export const retentionFacts = (retention: Retention | undefined): [string, string][] => [
  ...(retention?.history == null ? [] : [['history', `kept for ${retention.history}`] as [string, string]]),
  ...(retention?.auditLog == null
    ? []
    : [['audit log', `kept for ${retention.auditLog}`] as [string, string]]),
]
