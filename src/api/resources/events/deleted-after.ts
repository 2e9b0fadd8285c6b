import { type EventPosition, reachedUs } from '../../../core/run/frontier.ts'
import type { EventSource } from '../../../core/run/history-event.ts'
import type { Queryable } from '../../../store/database/database.ts'
import { deletedBefore, deletedBeforeOfAll } from '../../../store/history/retention.ts'

/** A position that events were read from, and whose events; null for those of all projects. */
export interface ReadFrom {
  readonly projectId: string | null
  readonly source: EventSource
  readonly position: EventPosition
}

/**
 * The instant before which a project, or any project if it is null, has lost events that come after a position, because it keeps
 * them for a shorter time than others; null where none are lost. What nobody keeps any more is noticed by whoever reads it. To be
 * called after reading from the position: what is deleted later was read.
 */
export async function deletedAfter(
  db: Queryable,
  { projectId, source, position }: ReadFrom,
): Promise<number | null> {
  const [deleted] = await db.run(projectId === null ? deletedBeforeOfAll() : deletedBefore(projectId))
  const before = (source === 'history' ? deleted?.history : deleted?.auditLog) ?? null
  return before !== null && reachedUs(position) / 1_000 < before ? before : null
}
