/**
 * Changes of the schema lock tables for a moment, and everyone who uses such a table queues behind a lock that is waited for. So
 * each lock is waited for briefly; if that is not enough, because a long query reads the table, the change is rolled back and
 * tried again after a pause in which the others go ahead.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { type Database, type Queryable, sqlState } from '../database/database.ts'
import { sql } from '../database/sql.ts'

const LOCK_NOT_AVAILABLE = '55P03'
/** A long try may wait for someone who waits for a table that an earlier migration of the transaction has locked. */
const DEADLOCK_DETECTED = '40P01'
/** The time for which others may have to queue. */
const LOCK_TIMEOUT_MS = 300
/**
 * PostgreSQL ends an autovacuum of the table for whoever has waited for `deadlock_timeout`, a second, and only then; it may take hours.
 * So every tenth try waits for longer.
 */
const LONG_LOCK_TIMEOUT_MS = 1_500
const TRIES_PER_LONG_ONE = 10
const PAUSE_MS = 1_000
/** Maximum number of times that a change is tried: it waits for others for more than an hour. */
const MAX_TRIES = 3_600

/** Runs a transaction with a limit for waiting for locks, which it sets with `limitLocks`, again while a lock is held by others. */
export async function withBriefLocks<T>(
  db: Database,
  work: (tx: Queryable, lockTimeoutMs: number) => Promise<T>,
  onWait: () => void = () => {},
): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    const lockTimeoutMs = tries % TRIES_PER_LONG_ONE === 0 ? LONG_LOCK_TIMEOUT_MS : LOCK_TIMEOUT_MS
    try {
      return await db.transaction((tx) => work(tx, lockTimeoutMs))
    } catch (error) {
      const state = sqlState(error)
      if ((state !== LOCK_NOT_AVAILABLE && state !== DEADLOCK_DETECTED) || tries >= MAX_TRIES) throw error
      if (tries === 1) onWait()
      await delay(PAUSE_MS)
    }
  }
}

/** Limits how long the transaction waits for each lock from here on. */
export const limitLocks = (tx: Queryable, ms: number) =>
  tx.run(sql`select set_config('lock_timeout', ${`${ms}ms`}, true)`)
