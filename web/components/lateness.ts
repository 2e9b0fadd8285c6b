import { formatDuration, formatLateness } from '../../src/core/words/time.ts'
import type { Run } from '../api/wire.ts'

/** Stands for a lateness that nothing has. */
export const NOT_LATE = '–'

/** Stored with the end of a run; while its first attempt goes on it follows from when that began. A backfill is never late. */
export function latenessWords(run: Run): string {
  if (run.latenessMs !== null) return formatLateness(run.latenessMs)
  if (run.attempt !== 1 || run.startedAt === null || run.kind === 'backfill') return NOT_LATE
  return formatDuration(Math.max(0, Date.parse(run.startedAt) - Date.parse(run.scheduledFor)))
}
