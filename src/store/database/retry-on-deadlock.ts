import { type Database, type Queryable, sqlState } from './database.ts'

const DEADLOCK_DETECTED = '40P01'
const MAX_TRIES = 5

/**
 * One transaction. Ending several runs of one task at once takes their rows in any order, and so may cross
 * a change that takes them too; PostgreSQL then sends one of the two away, and it may simply begin again.
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
