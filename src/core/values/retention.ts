/** How long a project keeps its history and its audit log: whole days, written as durations such as `90d`. */

import { formatDuration, parseDuration } from './duration.ts'
import { DAY_MS } from './time-units.ts'

export const MAX_RETENTION_DAYS = 36_500

/** Null: as long as the nodes say. */
export interface Retention {
  readonly historyDays: number | null
  readonly auditLogDays: number | null
}

export type ParsedRetention =
  | { readonly ok: true; readonly days: number }
  | { readonly ok: false; readonly reason: string }

export function parseRetention(text: string): ParsedRetention {
  const parsed = parseDuration(text, MAX_RETENTION_DAYS * DAY_MS)
  if (!parsed.ok) return parsed
  if (parsed.ms < DAY_MS) return { ok: false, reason: 'must be from 1d to 36500d' }
  if (parsed.ms % DAY_MS !== 0) return { ok: false, reason: 'must be a whole number of days, such as 90d' }
  return { ok: true, days: parsed.ms / DAY_MS }
}

export const formatRetention = (days: number): string => formatDuration(days * DAY_MS)
