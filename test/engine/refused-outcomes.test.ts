/** An outcome that PostgreSQL refuses is never dropped: it is kept, tried again, and people are told. */

import { expect, test } from 'vitest'
import { DEFAULT_PROJECT_ID } from '../../src/core/values/default-project.ts'
import { systemCall } from '../../src/operations/context.ts'
import { readStats } from '../../src/operations/overview/stats.ts'
import { WriteCheck } from '../../src/operations/server/write-check.ts'
import { OutcomeWriter } from '../../src/outcomes/outcome-writer.ts'
import { firePlain } from '../../src/store/agenda/fire-plain.ts'
import { lookAhead } from '../../src/store/agenda/look-ahead.ts'
import { sql } from '../../src/store/database/sql.ts'
import { silentLogger } from '../../src/telemetry/logger.ts'
import { LaneRegistry } from '../../src/transport/lane-registry.ts'
import { LocalWakeUps } from '../../src/transport/wake-ups.ts'
import { aNode, completed, endedRow, liveRow, ownShards, tasksInAgenda } from '../support/agenda.ts'
import { steadyClock } from '../support/clock.ts'
import { createTestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { aVault, ofFiles } from '../support/vault.ts'

const { db } = await createTestDatabase()

interface Begun {
  readonly runId: string
  readonly fence: number
}

/** Runs that have begun in one worker. */
async function runsInProgress(count: number): Promise<Begun[]> {
  await tasksInAgenda(db, { count })
  const nodeId = await aNode(db)
  const shards = await ownShards(db, nodeId)
  const ids = shards.map(({ id }) => id)
  const due = await db.run(lookAhead({ shards: ids, from: null, until: Date.now(), limitPerShard: count }))
  const rows = due.slice(0, count)
  await db.run(firePlain({ nodeId, shards, workerId: nodeId, rows }))
  return rows.map(({ runId, fence }) => ({ runId, fence: fence + 1 }))
}

function aWriter(): OutcomeWriter {
  const writer = new OutcomeWriter({
    db,
    wakeUps: new LocalWakeUps(),
    clock: steadyClock(),
    log: silentLogger(),
  })
  writer.start()
  return writer
}

const end = (writer: OutcomeWriter, { runId, fence }: Begun, output: unknown = null) =>
  writer.add({ kind: 'end', ending: { ...completed(runId, fence), output }, isAwaited: false })

const retry = (writer: OutcomeWriter, { runId, fence }: Begun) => {
  const now = Date.now()
  const attempt = { runId, fence, outcome: 'failed', startedAt: now, endedAt: now, retryAt: now } as const
  writer.add({ kind: 'retry', retry: { ...attempt, output: null, error: null } })
}

/** Makes history refuse some runs, whatever is said of them. */
const refuse = (runIds: readonly string[], parent: 'run' | 'attempt' = 'run') =>
  db.run({
    text: `alter table ${parent} add constraint refused_by_test check (run_id <> all('{${runIds.join(',')}}'::uuid[])) not valid`,
    values: [],
  })

const relent = (parent: 'run' | 'attempt' = 'run') =>
  db.run({ text: `alter table ${parent} drop constraint refused_by_test`, values: [] })

const overview = () =>
  readStats({
    db,
    writeCheck: new WriteCheck(db),
    clock: { now: () => Date.now() },
    wakeUps: new LocalWakeUps(),
    lanes: new LaneRegistry(),
    vault: aVault(db),
    ...ofFiles(aVault(db), Date),
    heartbeatMs: 5_000,
    shardTakeoverMs: 3_000,
    misfireGraceMs: 10_000,
    deadNodeMinutes: 10_080,
    refusedRequests: { note: () => {} },
    limits: { minPeriodMs: null, maxAheadMs: null },
    privateReach: 'all' as const,
    ...systemCall('test', DEFAULT_PROJECT_ID),
  })

test('an outcome is stored even if the history partition of its day is missing', async () => {
  const [run] = (await runsInProgress(1)) as [Begun]
  const [today] = await db.run(
    sql<{ day: string }>`select to_char(now() at time zone 'UTC', 'YYYYMMDD') as day`,
  )
  await db.run({ text: `drop table run_${today?.day}`, values: [] })
  const writer = aWriter()

  end(writer, run, { body: 'kept' })
  await writer.stop()

  expect(await db.run(sql`select state, output from run where run_id = ${run.runId}`)).toEqual([
    { state: 'completed', output: { body: 'kept' } },
  ])
  expect(await liveRow(db, run.runId)).toBeUndefined()
})

test('an attempt is stored even if the history partition of its day was detached', async () => {
  const [run] = (await runsInProgress(1)) as [Begun]
  const [today] = await db.run(
    sql<{ day: string }>`select to_char(now() at time zone 'UTC', 'YYYYMMDD') as day`,
  )
  await db.run({ text: `alter table attempt detach partition attempt_${today?.day}`, values: [] })
  const writer = aWriter()

  retry(writer, run)
  await writer.stop()

  expect(await liveRow(db, run.runId)).toMatchObject({ state: 'retrying' })
})

test('an outcome from an earlier day without a partition is stored', async () => {
  const [run] = (await runsInProgress(1)) as [Begun]
  const writer = aWriter()
  const endedAt = Date.now() - 5 * 86_400_000

  writer.add({ kind: 'end', ending: { ...completed(run.runId, run.fence), endedAt }, isAwaited: false })
  await writer.stop()

  expect(await endedRow(db, run.runId)).toMatchObject({ state: 'completed' })
})

test('an output that cannot be stored is left out, and the run ends', async () => {
  const [run] = (await runsInProgress(1)) as [Begun]
  const writer = aWriter()

  end(writer, run, { tooLong: 10n })
  await writer.stop()

  const [row] = await db.run(
    sql<{ state: string; output: unknown; error: { code: string } }>`
      select state, output, error from run where run_id = ${run.runId}`,
  )
  expect(row).toMatchObject({ state: 'completed', output: null, error: { code: 'unstorable_outcome' } })
})

test('a refused outcome delays no other, is kept and reported, and is written once it can be', async () => {
  const runs = await runsInProgress(100)
  const [bad, ...good] = runs as [Begun, ...Begun[]]
  await refuse([bad.runId])
  const writer = aWriter()

  for (const run of runs) end(writer, run)
  await eventually(async () => writer.keeps(bad.runId))
  await eventually(async () => writer.backlog === 1)
  for (const { runId } of good) expect(await endedRow(db, runId)).toMatchObject({ state: 'completed' })

  const stats = await overview()
  expect(stats.verdict.isFine).toBe(false)
  expect(stats.verdict.sentence).toContain(
    'PostgreSQL rejects 1 write: the outcome of a run cannot be recorded.',
  )
  expect(stats.verdict.sentence).not.toMatch(/Every (recurring )?task has its next run/)
  expect(stats.refused.items).toMatchObject([{ operation: 'record', runId: bad.runId }])
  expect(stats.refused.items[0]?.taskId).not.toBeNull()

  await relent()
  await writer.stop()

  expect(await endedRow(db, bad.runId)).toMatchObject({ state: 'completed' })
  expect(await liveRow(db, bad.runId)).toBeUndefined()
  expect((await overview()).refused.count).toBe(0)
})

test('a refused retry is kept, and its run stays running for a reclaim when the writer stops', async () => {
  const [run] = (await runsInProgress(1)) as [Begun]
  await refuse([run.runId], 'attempt')
  const writer = aWriter()

  retry(writer, run)
  await eventually(async () => writer.keeps(run.runId))
  expect(writer.backlog).toBe(1)
  await writer.stop()

  expect(await liveRow(db, run.runId)).toMatchObject({ state: 'running' })
  await relent('attempt')
})
