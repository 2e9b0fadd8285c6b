/** The same as test/api/tenants.test.ts, with as many requests as it takes to try every route with every kind of id. */
import { expect, test } from 'vitest'
import { createTestDatabase } from '../../support/database.ts'
import { digestOf, prepareTenants, randomFrom } from './random-requests.ts'

const REQUESTS = 20_000

test(`${REQUESTS} requests with ids of another project are answered like those with unknown ids`, async () => {
  const { db } = await createTestDatabase()
  const { compare } = await prepareTenants(db)
  const before = await digestOf(db)

  const differences = await compare(REQUESTS / 2, randomFrom(Number(process.env['BELFRY_TEST_SEED'] ?? 1)))

  expect(differences).toEqual([])
  expect(await digestOf(db)).toBe(before)
}, 600_000)
