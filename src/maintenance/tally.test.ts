import { expect, test } from 'vitest'
import { createTestDatabase } from '../../test/support/database.ts'
import { makeHistory } from '../../test/support/history.ts'
import { uuidv7 } from '../core/ids.ts'
import { DEFAULT_PROJECT_ID } from '../core/values/default-project.ts'
import { MINUTE_MS } from '../core/values/time-units.ts'
import { sql } from '../store/database/sql.ts'
import { readProgress, readTallies, saveProgress } from '../store/history/tally.ts'
import { silentLogger } from '../telemetry/logger.ts'
import { Tally } from './tally.ts'

const { db } = await createTestDatabase()
const tally = new Tally({ db, log: silentLogger() })
const thisMinute = () => Math.floor(Date.now() / MINUTE_MS) * MINUTE_MS
const progress = async () => (await db.run(readProgress()))[0]?.countedUntil ?? 0
const countAll = async () => {
  let passes = 1
  while ((await tally.runOnce()) === 0) passes++
  return passes
}
/** Counted minutes as history itself tells them. */
const truth = () =>
  db.run(sql<{ minute: number; completed: number; skipped: number; late: number }>`
    select date_trunc('minute', ended_at) as minute, count(*) filter (where state = 'completed')::integer as completed,
           coalesce(sum(coalesce(covers_count, 1)) filter (where state = 'skipped'), 0)::integer as skipped, count(late_ms)::integer as late
    from run where ended_at < (select counted_until from tally_progress) group by 1 order by 1`)
const told = async () =>
  (await db.run(readTallies({ projectId: DEFAULT_PROJECT_ID, from: 0 }))).map((row) => ({
    minute: row.minute,
    completed: row.completed,
    skipped: row.skipped,
    late: Object.values(row.late).reduce((sum, count) => sum + count, 0),
  }))

test('past minutes are counted in bounded passes, up to the current minute', async () => {
  const until = Date.now()
  await makeHistory(db, { runs: 5_000, from: until - 40 * MINUTE_MS, until, taskIds: [uuidv7(), uuidv7()] })
  await db.run(saveProgress(thisMinute() - 45 * MINUTE_MS))

  const passes = await countAll()

  expect(passes).toBeGreaterThan(3)
  expect(await told()).toEqual(await truth())
  expect((await told()).length).toBeGreaterThanOrEqual(38)
  expect(await progress()).toBeLessThanOrEqual(Date.now() - 10_000)
  expect(await progress()).toBeGreaterThan(Date.now() - 3 * MINUTE_MS)
})

test('runs that were recorded late are included when their minute is counted again', async () => {
  const counted = await progress()
  await makeHistory(db, { runs: 100, from: counted - 50_000, until: counted - 40_000, taskIds: [uuidv7()] })
  await db.run(saveProgress(counted - MINUTE_MS))

  await countAll()

  expect(await told()).toEqual(await truth())
})

test('a skip that covers several occurrences counts as several, and a misfire as missed', async () => {
  const at = (await progress()) - 30_000
  const insert = (reason: string, until: number | null, count: number | null) =>
    db.run(sql`
      insert into run (run_id, task_id, project_id, scheduled_for, ended_at, covers_until, covers_count, version, ordinal, kind, state, reason)
      values (${uuidv7()}, ${uuidv7()}, ${DEFAULT_PROJECT_ID}, now(), to_timestamp(${at}::float8 / 1000),
              to_timestamp(${until}::float8 / 1000), ${count}, 1, 1, 'occurrence', 'skipped', ${reason})`)
  const before = (await db.run(readTallies({ projectId: DEFAULT_PROJECT_ID, from: at - 30_000 })))[0]
  await insert('paused', at, 7)
  await insert('misfire', at, 5)
  await insert('overlap', null, null)
  await db.run(saveProgress((await progress()) - MINUTE_MS))

  await countAll()

  const after = (await db.run(readTallies({ projectId: DEFAULT_PROJECT_ID, from: at - 30_000 })))[0]
  expect(after).toMatchObject({
    skipped: (before?.skipped ?? 0) + 13,
    missed: (before?.missed ?? 0) + 5,
  })
})

test('of several nodes only one counts at a time', async () => {
  await db.run(saveProgress(thisMinute() - 5 * MINUTE_MS))
  await db.transaction(async (tx) => {
    await tx.run(sql`select from tally_progress for update`)

    expect(await tally.runOnce()).toBeUndefined()
  })
  expect(await progress()).toBe(thisMinute() - 5 * MINUTE_MS)

  await Promise.all([1, 2, 3, 4].map(() => tally.runOnce()))

  expect(await told()).toEqual(await truth())
  expect(await progress()).toBeGreaterThan(thisMinute() - 5 * MINUTE_MS)
})

test('a minute in which more occurrences were skipped than a count can be is counted', async () => {
  const at = (await progress()) - 30_000
  const largest = 2_147_483_647
  for (const reason of ['paused', 'misfire'])
    await db.run(sql`
      insert into run (run_id, task_id, project_id, scheduled_for, ended_at, covers_until, covers_count, version, ordinal, kind, state, reason)
      values (${uuidv7()}, ${uuidv7()}, ${DEFAULT_PROJECT_ID}, now(), to_timestamp(${at}::float8 / 1000),
              to_timestamp(${at}::float8 / 1000), ${largest}, 1, 1, 'occurrence', 'skipped', ${reason})`)
  await db.run(saveProgress((await progress()) - MINUTE_MS))

  await countAll()

  const counted = (await db.run(readTallies({ projectId: DEFAULT_PROJECT_ID, from: at - 30_000 })))[0]
  expect(counted).toMatchObject({ skipped: largest, missed: largest })
})
