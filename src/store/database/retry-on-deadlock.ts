import { type Database, type Queryable, sqlState } from './database.ts'

const DEADLOCK_DETECTED = '40P01'
const MAX_TRIES = 5

/**
 * Runs one transaction, again if it deadlocks. Ending several runs of a task at once locks their rows in any order, and may
 * deadlock with a change that locks them too; PostgreSQL then aborts one of the two, which can simply be retried.
 */
export async function withDeadlockRetry<T>(
  db: Pick<Database, 'transaction'>,
  work: (tx: Queryable) => Promise<T>,
): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await db.transaction(work)
    } catch (error) {
      if (tries === MAX_TRIES || sqlState(error) !== DEADLOCK_DETECTED) throw error
    }
  }
}
