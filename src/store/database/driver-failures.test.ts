import { expect, test } from 'vitest'
import { whenDone } from '../../../test/support/cleanup.ts'
import { createTestDatabase } from '../../../test/support/database.ts'
import { eventually } from '../../../test/support/eventually.ts'
import { startProxy } from '../../../test/support/proxy.ts'
import { Database } from './database.ts'
import { sql } from './sql.ts'

const { url, db } = await createTestDatabase()

/** A row that says it has a thousand columns, and has none: the driver throws when it reads on. */
const UNREADABLE_ROW = Buffer.from([0x44, 0, 0, 0, 6, 0x03, 0xe8])

test('an answer that the driver cannot read fails its statement and not the process', async () => {
  const proxy = await startProxy(url)
  const options = { applicationName: 'unlucky', maxConnections: 1, statementTimeoutMs: 30_000 }
  const unlucky = new Database({ url: proxy.url, ...options })
  whenDone(() => unlucky.close())

  const answer = unlucky.run(sql`select pg_sleep(30)`).catch((error: unknown) => error)
  const isAsked = () =>
    db.run(sql`select from pg_stat_activity where application_name = 'unlucky' and state = 'active'`)
  await eventually(async () => (await isAsked()).length > 0)
  proxy.say(UNREADABLE_ROW)

  expect(await answer).toBeInstanceOf(RangeError)
  expect(await unlucky.run(sql`select 1 as one`)).toEqual([{ one: 1 }])
})
