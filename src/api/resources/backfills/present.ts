import { utc, utcOrNull } from '../../../core/values/utc.ts'
import type { BackfillCounts, BackfillRow } from '../../../store/backfills/backfills.ts'
import type { Backfill } from './schemas.ts'

export function presentBackfill(row: BackfillRow & BackfillCounts): Backfill {
  const left = row.occurrences - row.started - row.passedOver
  return {
    id: row.id,
    taskId: row.taskId,
    state: row.state,
    version: row.version,
    from: utc(row.from),
    to: utc(row.to),
    order: row.newestFirst ? 'newest_first' : 'oldest_first',
    rate: row.rate,
    overlap: row.oneByOne ? 'queue_all' : 'allow',
    maxRuns: row.maxRuns,
    force: row.force,
    reason: row.reason,
    madeBy: row.madeBy,
    createdAt: utc(row.createdAt),
    endedAt: utcOrNull(row.endedAt),
    position: utcOrNull(row.position),
    occurrences: row.occurrences,
    remaining: row.isWritten || row.state !== 'running' ? 0 : left,
    passedOver: row.passedOver,
    started: row.started,
    waiting: row.waiting,
    running: row.running,
    completed: row.completed,
    failed: row.failed,
    cancelled: row.cancelled,
  }
}
