/** The same as test/api/tenants.test.ts, with as many requests as it takes to try every route with every kind of name. */
import { expect, test } from 'vitest'
import { createTestDatabase } from '../../support/database.ts'
import { prepareTenants, randomFrom } from './random-requests.ts'
import { digestOf } from './stored.ts'

/** Each of them is followed by the same request about something that does not exist. */
const REQUESTS = 20_000

test(`${REQUESTS} requests with names of another project are answered like those with unknown names`, async () => {
  const { db } = await createTestDatabase()
  const { compare, uncovered } = await prepareTenants(db)
  const before = await digestOf(db, 'theirs')

  const { differences, unreached } = await compare(
    REQUESTS,
    randomFrom(Number(process.env['BELFRY_TEST_SEED'] ?? 1)),
  )

  expect(differences).toEqual([])
  expect([uncovered, unreached]).toEqual([[], []])
  expect(await digestOf(db, 'theirs')).toEqual(before)
}, 1_800_000)
