/**
 * Events that were deleted before they were delivered. History and the audit log are deleted after a while, also while a receiver
 * is down or a subscription is disabled. Other sources of events, such as circuits, may still be complete, so delivery does not
 * skip the time range: it delivers what is left of it, and the subscription shows that some may be missing.
 */
import { type EventPosition, reachedUs } from '../../core/run/frontier.ts'
import type { EventSource } from '../../core/run/history-event.ts'
import type { Queryable } from '../../store/database/database.ts'
import type { DeliveryGap } from '../../store/events/subscriptions.ts'
import { SURELY_KEPT_US } from '../history-page.ts'
import { TAIL_SOURCES } from '../tail-source.ts'

/** A position that was read from, and whose events these are. */
export interface ReadFrom {
  readonly position: EventPosition
  readonly projectId: string
  readonly source: EventSource
  readonly now: number
}

/**
 * Returns what was deleted of a project after a position; null if nothing was. To be called after reading from the position:
 * what is deleted later was read, and everything that was deleted before is found here.
 */
export async function findGap(
  db: Queryable,
  { position, projectId, source, now }: ReadFrom,
): Promise<DeliveryGap | null> {
  const reachedMs = reachedUs(position) / 1_000
  if (now - reachedMs <= SURELY_KEPT_US / 1_000) return null
  const [kept] = await db.run(TAIL_SOURCES[source].kept(projectId))
  if (!kept || kept.begin === null) return null
  const from = Math.max(reachedMs, kept.createdAt)
  return from < kept.begin
    ? { from: Math.floor(from), to: Math.floor(kept.begin), at: Math.floor(now) }
    : null
}

/**
 * Returns the gap to store: the one that was found, together with the known one if they overlap. Null if the known one says it
 * already, as it does for each further page of the range.
 */
export function extended(known: DeliveryGap | null, found: DeliveryGap): DeliveryGap | null {
  if (known === null || found.from > known.to || found.to < known.from) return found
  if (found.from >= known.from && found.to <= known.to) return null
  return { from: Math.min(known.from, found.from), to: Math.max(known.to, found.to), at: found.at }
}
