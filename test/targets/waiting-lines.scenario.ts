/** What waits for a full target costs nothing while it waits, measured by the rows that the node reads. */
import { expect, test } from 'vitest'
import type { Database } from '../../src/store/database/database.ts'
import { sql } from '../../src/store/database/sql.ts'
import { ask } from '../checker/observe.ts'
import { callAll, TARGET_LIMIT, untilUnderWay } from '../support/calling.ts'
import { createTestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { allEnded } from '../support/limits.ts'
import { startTestNode } from '../support/node.ts'
import { startTargets } from '../support/target-servers.ts'

/** A connection that does nothing reports what it has read after ten seconds at the latest. */
const REPORTED_MS = 11_000
/** Long enough for each loop of a node to look several times. */
const WATCHED_MS = 8_000

test('runs that wait for a full target are not read repeatedly', async () => {
  const { url, db } = await createTestDatabase()
  const node = await startTestNode({ url, db }, { concurrency: 10 })
  const targets = startTargets()
  const [healthy, silent] = [await targets.open('healthy'), await targets.open('silent')]
  const many = 2_000
  // Each pass of a scheduler reads what was due in the last seconds, whatever it is doing by now.
  const startAt = new Date(Date.now() - 20_000).toISOString()
  await callAll(node, silent, TARGET_LIMIT + many, { startAt })
  await untilUnderWay(silent, TARGET_LIMIT)
  await eventually(async () => {
    const [row] = await ask<{ count: number }>(url, 'select count(*)::integer as count from ready')
    return row?.count === many
  })
  const callOthersFor = async (ms: number) => {
    const until = performance.now() + ms
    while (performance.now() < until) await allEnded(db, await callAll(node, healthy, 1))
  }

  await callOthersFor(REPORTED_MS)
  const before = await rowsRead(db)
  await callOthersFor(WATCHED_MS)
  const after = await rowsRead(db)

  // A look at each of them now and then, and all that is read for the others; to look each second would be eight times as many.
  expect(after.ready - before.ready).toBeLessThan(2 * many)
  expect(after.agenda - before.agenda).toBeLessThan(4 * many)
  expect((await silent.read()).received).toBe(TARGET_LIMIT)
})

/** Rows that were read of the two tables, by their indexes or without. Looking at them here counts too, and is little. */
async function rowsRead(db: Database): Promise<{ ready: number; agenda: number }> {
  const rows = await db.run(sql<{ name: 'ready' | 'agenda'; count: number }>`
    select relname as name, (coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0))::integer as count
    from pg_stat_user_tables where relname in ('ready', 'agenda')`)
  const countOf = (name: string) => rows.find((row) => row.name === name)?.count ?? 0
  return { ready: countOf('ready'), agenda: countOf('agenda') }
}
