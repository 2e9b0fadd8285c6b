import { setTimeout as delay } from 'node:timers/promises'
import { type Database, type Queryable, sqlState } from './database.ts'
import { sql } from './sql.ts'

const DEADLOCK_DETECTED = '40P01'
const LOCK_NOT_AVAILABLE = '55P03'

/** PostgreSQL takes a second to detect a deadlock. After `waitBriefly`, a try takes a tenth of that, so there can be more of them. */
const MAX_TRIES: Readonly<Record<string, number>> = { [DEADLOCK_DETECTED]: 5, [LOCK_NOT_AVAILABLE]: 50 }
/** Lets those that waited for this transaction take its locks first. Random, so that two that gave up do not meet again. */
const MAX_PAUSE_MS = 20

/** Well below the second after which PostgreSQL checks for deadlocks. */
const BRIEFLY_MS = 100

/** Transactions that have called `waitBriefly`. */
const brief = new WeakSet<Queryable>()

/**
 * Limits how long the transaction waits for each lock from here on; `withDeadlockRetry` repeats it if that is not enough. This is for
 * locks that other transactions take before those that this one holds: waiting longer could be a deadlock, and end the other one.
 */
export async function waitBriefly(tx: Queryable): Promise<void> {
  brief.add(tx)
  await tx.run(sql`select set_config('lock_timeout', ${`${BRIEFLY_MS}ms`}, true)`)
}

/**
 * Runs one transaction, again if it deadlocks or has given up waiting for a lock because of `waitBriefly`; a `lock_timeout` of the role is
 * the operator's limit and ends it. Ending several runs of a task at once locks their rows in any order, and may deadlock with a change
 * that locks them too; PostgreSQL then aborts one of the two, which can simply be retried.
 */
export async function withDeadlockRetry<T>(
  db: Pick<Database, 'transaction'>,
  work: (tx: Queryable) => Promise<T>,
): Promise<T> {
  const tries = new Map<string, number>()
  for (;;) {
    let used: Queryable | undefined
    try {
      return await db.transaction((tx) => {
        used = tx
        return work(tx)
      })
    } catch (error) {
      const state = sqlState(error) ?? ''
      const count = (tries.get(state) ?? 0) + 1
      tries.set(state, count)
      if (count >= (MAX_TRIES[state] ?? 1)) throw error
      if (state !== LOCK_NOT_AVAILABLE) continue
      if (used === undefined || !brief.has(used)) throw error
      await delay(MAX_PAUSE_MS * Math.random())
    }
  }
}
