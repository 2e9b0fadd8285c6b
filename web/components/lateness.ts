import { formatDuration, formatLateness } from '../../src/core/words/time.ts'
import type { Run } from '../api/wire.ts'

/** Shown if a run has no lateness. */
export const NOT_LATE = '–'

/** Lateness is stored when a run ends; during the first attempt it is calculated from the start. A backfill is never late. */
export function latenessWords(run: Run): string {
  if (run.latenessMs !== null) return formatLateness(run.latenessMs)
  if (run.attempt !== 1 || run.startedAt === null || run.kind === 'backfill') return NOT_LATE
  return formatDuration(Math.max(0, Date.parse(run.startedAt) - Date.parse(run.scheduledFor)))
}
