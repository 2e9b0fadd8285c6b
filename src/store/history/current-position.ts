import { type EventPosition, frontierAt, nextFrontier } from '../../core/run/frontier.ts'
import type { Queryable } from '../database/database.ts'
import { currentSnapshot, markTransactions } from './ended-runs.ts'

/**
 * A transaction that was open before reading began is at most this old: Belfry's own transactions are short, and a session that
 * is idle in a transaction is ended after a minute.
 */
const LONGEST_TRANSACTION_US = 600_000_000

/** Returns the position after everything that has been committed. */
export async function currentPosition(db: Queryable): Promise<EventPosition> {
  const [mark] = await db.run(markTransactions())
  const [seen] = await db.run(currentSnapshot())
  const markUs = mark?.us ?? 0
  const before = frontierAt(markUs - LONGEST_TRANSACTION_US)
  return { from: nextFrontier(before, seen?.snapshot ?? '', markUs), to: null, at: null }
}
