import { expect, test } from 'vitest'
import { createTestDatabase } from '../../../test/support/database.ts'
import type { Database, Queryable } from './database.ts'
import { waitBriefly, withDeadlockRetry } from './retry-on-deadlock.ts'
import { sql } from './sql.ts'

const { db } = await createTestDatabase()
await db.run(sql`create table thing (id integer)`)

/** Fails as PostgreSQL does, in this order, and then succeeds; returns the number of transactions. */
async function triesUntil(states: readonly string[], begin = async (_tx: Queryable) => {}): Promise<number> {
  let tries = 0
  const work = async (tx: Queryable) => {
    await begin(tx)
    const state = states[tries++]
    if (state !== undefined) throw Object.assign(new Error(state), { code: state })
  }
  const alone = {
    transaction: (run: (tx: Queryable) => Promise<void>) => run({ run: async () => [] } as never),
  }
  await withDeadlockRetry(alone as unknown as Database, work).catch(() => {
    tries = -tries
  })
  return tries
}

test('a transaction that deadlocks is repeated up to five times', async () => {
  expect(await triesUntil(Array(4).fill('40P01'))).toBe(5)
  expect(await triesUntil(Array(5).fill('40P01'))).toBe(-5)
})

test('lock timeouts of brief waits do not use up the tries of deadlocks', async () => {
  const states = [...Array(8).fill('55P03'), ...Array(4).fill('40P01'), ...Array(8).fill('55P03')]

  expect(await triesUntil(states, waitBriefly)).toBe(21)
})

test('a lock timeout of the role ends the transaction at once, one of a brief wait repeats it', async () => {
  let tries = 0
  let isFree = () => {}
  const locked = new Promise<void>((resolve) => {
    isFree = resolve
  })
  const holding = db.transaction(async (tx) => {
    await tx.run(sql`lock table thing`)
    await locked
  })
  const wait = (begin: (tx: Queryable) => Promise<unknown>) =>
    withDeadlockRetry(db, async (tx) => {
      tries++
      await begin(tx)
      await tx.run(sql`select id from thing`)
    })

  await expect(wait((tx) => tx.run(sql`set local lock_timeout = '10ms'`))).rejects.toMatchObject({
    code: '55P03',
  })
  const triesOfRole = tries
  const brief = wait(async (tx) => {
    await waitBriefly(tx)
    if (tries > triesOfRole + 1) isFree()
  })
  await brief
  await holding

  expect(triesOfRole).toBe(1)
  expect(tries).toBeGreaterThan(2)
})
