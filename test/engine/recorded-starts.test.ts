/** History says when an attempt began by the database's clock, and does not say so of one that may not have begun. */

import { expect, test } from 'vitest'
import { Reaper } from '../../src/liveness/reaper.ts'
import { OutcomeWriter } from '../../src/outcomes/outcome-writer.ts'
import type { Assurance, Step } from '../../src/runtime/clock.ts'
import { type Ending, endPlainRuns, endRuns, type PlainEnding } from '../../src/store/agenda/outcomes.ts'
import { retryRuns } from '../../src/store/agenda/retries.ts'
import { sql } from '../../src/store/database/sql.ts'
import { silentLogger } from '../../src/telemetry/logger.ts'
import { LocalWakeUps } from '../../src/transport/wake-ups.ts'
import { Attempt } from '../../src/worker/attempt.ts'
import { aDefinition, aNode, completed, tasksInAgenda } from '../support/agenda.ts'
import { steadyClock } from '../support/clock.ts'
import { createTestDatabase } from '../support/database.ts'
import { logsInMemory } from '../support/logs.ts'

const { db } = await createTestDatabase()

/** A run in the name of a node, claimed `aheadMs` before it was due; the node showed itself last `beatMs` after that. */
async function aClaimedRun({
  aheadMs = 0,
  beatMs = 0,
  isDead = false,
  onWorkerLoss = 'retry' as 'retry' | 'fail',
} = {}) {
  const dueAt = Date.now() - 60_000
  const [{ runId } = { runId: '' }] = await tasksInAgenda(db, { dueAt, definition: { onWorkerLoss } })
  const nodeId = await aNode(db)
  await db.run(sql`
    update node set beat_at = to_timestamp(${dueAt + beatMs}::float8 / 1000), dead_at = case when ${isDead}::boolean then now() end
    where id = ${nodeId}`)
  await db.run(sql`
    update agenda set state = 'running', worker_id = ${nodeId}, fence = 1, attempt = 1,
      claimed_at = to_timestamp(${dueAt - aheadMs}::float8 / 1000)
    where run_id = ${runId}`)
  return { runId, dueAt, nodeId }
}

const reap = async () => {
  const parts = { db, wakeUps: new LocalWakeUps(), clock: steadyClock(), log: silentLogger() }
  const nodeId = await aNode(db)
  await new Reaper({ ...parts, nodeId, everyMs: 1_000, deadAfterMs: 60_000, batch: 100 }).runOnce()
}

const started = async (table: 'run' | 'attempt', runId: string) => {
  const late = table === 'run' ? 'late_ms' : 'null::bigint'
  const text = `select floor(extract(epoch from started_at) * 1000)::float8 as "startedAt", ${late} as "lateMs" from ${table} where run_id = $1`
  const [row] = await db.run<{ startedAt: number | null; lateMs: number | null }>({ text, values: [runId] })
  return row
}

test('an attempt that was claimed ahead and lost with its worker has no recorded start', async () => {
  const { runId } = await aClaimedRun({ aheadMs: 30, beatMs: -1_000, isDead: true })

  await reap()

  expect(await started('attempt', runId)).toMatchObject({ startedAt: null })
})

test('a run that ends with a lost attempt that may not have started has no start and no lateness', async () => {
  const { runId } = await aClaimedRun({ aheadMs: 30, beatMs: 10, isDead: true, onWorkerLoss: 'fail' })

  await reap()

  expect(await started('run', runId)).toEqual({ startedAt: null, lateMs: null })
})

test('a lost attempt whose worker was alive long after the due instant started at that instant', async () => {
  const { runId, dueAt } = await aClaimedRun({ aheadMs: 30, beatMs: 20_000, isDead: true })

  await reap()

  expect(await started('attempt', runId)).toMatchObject({ startedAt: dueAt })
})

test('an attempt that is cancelled before its instant has not started', async () => {
  const dueAt = Date.now() + 3_600_000
  const definition = aDefinition()
  const work = { runId: 'r', taskId: 't', version: 1, scheduledFor: dueAt, wakeAt: dueAt, fence: 1 }
  const attempt = new Attempt({ ...work, attempt: 1, losses: 0, definition }, steadyClock(), logsInMemory())

  const ended = attempt.perform(
    { execute: async () => ({ kind: 'completed', output: null }) },
    definition.action,
  )
  attempt.stop('cancelled')

  expect(await ended).toMatchObject({ outcome: { kind: 'cancelled' }, startedAt: null })
})

/** Much longer than the test takes, which the recorded start depends on. */
const AHEAD_MS = 100_000

/** What a node says that thinks the database's clock is so far ahead of what it is. */
const aheadBy = (ms: number, until: number) => ({ now: Date.now() + ms, until })

test.each([
  ['plainly', (ending: PlainEnding & Ending, by: Assurance) => db.run(endPlainRuns([ending], by))],
  ['in full', (ending: PlainEnding & Ending, by: Assurance) => db.run(endRuns([ending], by))],
] as const)(
  'a run that started early because the clock was set back is recorded as early: ended %s',
  async (_, end) => {
    const { runId, dueAt } = await aClaimedRun()
    const { runId: assured } = await aClaimedRun()
    const ending = (id: string) => ({ ...completed(id, 1), startedAt: dueAt + 2, endedAt: Date.now() })

    await end(ending(runId), aheadBy(AHEAD_MS, dueAt))
    await end(ending(assured), aheadBy(AHEAD_MS, dueAt + 1_000))

    const row = await started('run', runId)
    expect(row?.lateMs).toBeGreaterThanOrEqual(1 - AHEAD_MS)
    expect(row?.lateMs).toBeLessThan(-AHEAD_MS / 2)
    expect(row?.startedAt).toBe(dueAt + (row?.lateMs ?? 0))
    expect(await started('run', assured)).toMatchObject({ startedAt: dueAt + 2 })
  },
)

test('a failed attempt that started early because the clock was set back is recorded as early', async () => {
  const { runId, dueAt } = await aClaimedRun()
  const endedAt = Date.now()
  const failed = { outcome: 'failed', output: null, error: null, retryAt: endedAt + 60_000 } as const

  await db.run(
    retryRuns([{ ...failed, runId, fence: 1, startedAt: dueAt + 2, endedAt }], aheadBy(AHEAD_MS, dueAt)),
  )

  expect((await started('attempt', runId))?.startedAt).toBeLessThan(dueAt - AHEAD_MS / 2)
})

test.each([
  ['a plain end', (ending: PlainEnding & Ending) => db.run(endPlainRuns([ending]))],
  ['an end', (ending: PlainEnding & Ending) => db.run(endRuns([ending]))],
  [
    'a retry and an end',
    async (ending: PlainEnding & Ending) => {
      const failed = { outcome: 'failed', output: null, error: null, retryAt: ending.endedAt } as const
      await db.run(retryRuns([{ ...ending, ...failed }]))
      await db.run(
        sql`update agenda set state = 'running', worker_id = ${await aNode(db)} where run_id = ${ending.runId}`,
      )
      await db.run(endRuns([{ ...ending, startedAt: ending.startedAt + 5_000 }]))
    },
  ],
])('the lateness that %s records is exact to the millisecond', async (_, end) => {
  const { runId, dueAt } = await aClaimedRun()

  await end({ ...completed(runId, 1), startedAt: dueAt + 1_001, endedAt: Date.now() })

  expect(await started('run', runId)).toMatchObject({ lateMs: 1_001 })
})

test('a clock that is behind the database clock changes no recorded start', async () => {
  const { runId, dueAt } = await aClaimedRun()

  await db.run(endRuns([{ ...completed(runId, 1), startedAt: dueAt + 2 }], aheadBy(-500, dueAt)))

  expect(await started('run', runId)).toEqual({ startedAt: dueAt + 2, lateMs: 2 })
})

test('an unwritten outcome is corrected when the clock is found to have been set', async () => {
  const { runId, dueAt } = await aClaimedRun()
  let tell: (step: Step) => void = () => {}
  const onStep = (listener: typeof tell) => {
    tell = listener
  }
  const clock = { ...steadyClock(), onStep }
  const writer = new OutcomeWriter({ db, wakeUps: new LocalWakeUps(), clock, log: silentLogger() })
  writer.add({ kind: 'end', ending: { ...completed(runId, 1), startedAt: dueAt + 2 }, isAwaited: false })

  tell({ byMs: -500, assuredUntil: dueAt })
  writer.start()
  await writer.stop()

  expect(await started('run', runId)).toEqual({ startedAt: dueAt - 498, lateMs: -498 })
})
