/** Outcomes are written in batches, two at a time when there are many, and each until it is written. */
import { expect, test } from 'vitest'
import { OutcomeWriter } from '../../src/outcomes/outcome-writer.ts'
import { firePlain } from '../../src/store/agenda/fire-plain.ts'
import { lookAhead } from '../../src/store/agenda/look-ahead.ts'
import { Database } from '../../src/store/database/database.ts'
import { sql } from '../../src/store/database/sql.ts'
import { silentLogger } from '../../src/telemetry/logger.ts'
import { LocalWakeUps } from '../../src/transport/wake-ups.ts'
import { aNode, completed, ownShards, tasksInAgenda } from '../support/agenda.ts'
import { whenDone } from '../support/cleanup.ts'
import { steadyClock } from '../support/clock.ts'
import { createTestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'

const COUNT = 1_600

/** Runs that have begun in one worker. */
async function runsInProgress(db: Database, count: number): Promise<{ runId: string; fence: number }[]> {
  await tasksInAgenda(db, { count })
  const nodeId = await aNode(db)
  const shards = await ownShards(db, nodeId)
  const ids = shards.map(({ id }) => id)
  const rows = await db.run(lookAhead({ shards: ids, from: null, until: Date.now(), limitPerShard: count }))
  await db.run(firePlain({ nodeId, shards, workerId: nodeId, rows }))
  return rows.map(({ runId, fence }) => ({ runId, fence: fence + 1 }))
}

test('outcomes of a statement that is blocked are written later, without delaying the others', async () => {
  const { db, url } = await createTestDatabase()
  const runs = await runsInProgress(db, COUNT)
  const impatient = new Database({ url, applicationName: 'test', maxConnections: 4, statementTimeoutMs: 300 })
  whenDone(() => impatient.close())
  const writer = new OutcomeWriter({
    db: impatient,
    wakeUps: new LocalWakeUps(),
    clock: steadyClock(),
    log: silentLogger(),
  })
  const written = async () => {
    const [row] = await db.run(sql<{ count: number }>`select count(*)::integer as count from run`)
    return row?.count ?? 0
  }
  const last = runs.at(-1)?.runId as string

  await db.transaction(async (tx) => {
    await tx.run(sql`select from agenda where run_id = ${last} for update`)
    for (const { runId, fence } of runs)
      writer.add({ kind: 'end', ending: completed(runId, fence), isAwaited: false })
    writer.start()
    await eventually(async () => (await written()) === COUNT / 2)
    expect(writer.knows(last)).toBe(true)
  })
  await writer.stop()

  expect(await written()).toBe(COUNT)
  expect(writer.backlog).toBe(0)
  expect(await db.run(sql`select distinct run_id from run where state = 'completed'`)).toHaveLength(COUNT)
  expect(await db.run(sql`select from agenda`)).toEqual([])
})
