import type { EventSource } from '../../../core/run/history-event.ts'
import type { Queryable } from '../../../store/database/database.ts'
import { deletedBefore } from '../../../store/history/retention.ts'
import type { EventStart } from './event-clients.ts'

/**
 * The instant before which a project has lost events that come after a position, because it keeps them for a shorter time than
 * others; null where it has lost none. What nobody keeps any more is noticed by whoever reads it.
 */
export async function deletedAfter(
  db: Queryable,
  {
    projectId,
    source,
    start,
  }: { readonly projectId: string | null; readonly source: EventSource; readonly start: EventStart },
): Promise<number | null> {
  if (projectId === null || typeof start === 'string') return null
  const [deleted] = await db.run(deletedBefore(projectId))
  if (!deleted) return null
  const before = source === 'history' ? deleted.history : deleted.auditLog
  return start.from.fromUs / 1_000 < before ? before : null
}
