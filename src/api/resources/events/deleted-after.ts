import { reachedUs } from '../../../core/run/frontier.ts'
import type { EventSource } from '../../../core/run/history-event.ts'
import type { Queryable } from '../../../store/database/database.ts'
import { deletedBefore, deletedBeforeOfAll } from '../../../store/history/retention.ts'
import type { EventStart } from './event-clients.ts'

/**
 * The instant before which a project, or any project if it is null, has lost events that come after a position, because it keeps
 * them for a shorter time than others; null where none are lost. What nobody keeps any more is noticed by whoever reads it.
 */
export async function deletedAfter(
  db: Queryable,
  {
    projectId,
    source,
    start,
  }: { readonly projectId: string | null; readonly source: EventSource; readonly start: EventStart },
): Promise<number | null> {
  if (typeof start === 'string') return null
  const [deleted] = await db.run(projectId === null ? deletedBeforeOfAll() : deletedBefore(projectId))
  const before = (source === 'history' ? deleted?.history : deleted?.auditLog) ?? null
  return before !== null && reachedUs(start) / 1_000 < before ? before : null
}
