import { expect, test } from 'vitest'
import { createTestDatabase } from '../../../test/support/database.ts'
import { Refusal } from '../../core/errors.ts'
import { sql } from '../../store/database/sql.ts'
import { SignInAttempts } from './sign-in-attempts.ts'

const { db } = await createTestDatabase()

/** Tries so often at once; answers how many were let through. */
async function tried(attempts: readonly SignInAttempts[], address: string, times: number): Promise<number> {
  const results = await Promise.allSettled(
    Array.from({ length: times }, (_, i) => attempts[i % attempts.length]?.begin(address)),
  )
  for (const result of results)
    if (result.status === 'rejected') expect(result.reason).toBeInstanceOf(Refusal)
  return results.filter(({ status }) => status === 'fulfilled').length
}

test('an address has ten sign-in attempts across all nodes, also at once', async () => {
  const nodes = [new SignInAttempts(db), new SignInAttempts(db), new SignInAttempts(db)]

  expect(await tried(nodes, '192.0.2.1', 30)).toBe(10)
  expect(await tried(nodes, '192.0.2.2', 1)).toBe(1)
  await expect(new SignInAttempts(db).begin('192.0.2.1')).rejects.toMatchObject({
    code: 'too_many_sign_ins',
    retryAfterSeconds: expect.any(Number),
  })
})

test('successful attempts do not count, and one attempt is returned every six seconds', async () => {
  const attempts = new SignInAttempts(db)
  for (let i = 0; i < 20; i++) {
    await attempts.begin('198.51.100.1')
    await attempts.succeed('198.51.100.1')
  }

  expect(await tried([attempts], '198.51.100.1', 12)).toBe(10)
  await db.run(sql`update request_quota set next_at = next_at - interval '30 seconds'`)
  expect(await tried([new SignInAttempts(db)], '198.51.100.1', 10)).toBe(5)
})

test('addresses of one IPv6 network count together', async () => {
  const attempts = new SignInAttempts(db)

  expect(await tried([attempts], '2001:db8:0:1::1', 11)).toBe(10)
  expect(await tried([attempts], '2001:db8:0:1:ffff::2', 1)).toBe(0)
  expect(await tried([attempts], '2001:db8:0:2::1', 1)).toBe(1)
})
