/** Rows that are gone from history after they were counted. */
import { expect, test } from 'vitest'
import { tasksInAgenda } from '../../../test/support/agenda.ts'
import { createTestDatabase } from '../../../test/support/database.ts'
import { DEFAULT_PROJECT_ID } from '../../core/values/default-project.ts'
import { auditSummary, listFindings } from '../../store/audit/findings.ts'
import { sql } from '../../store/database/sql.ts'
import { silentLogger } from '../../telemetry/logger.ts'
import { Tally } from '../tally.ts'

const { db } = await createTestDatabase()
const tally = new Tally({ db, log: silentLogger() })
const MINUTE = 60_000
const projectId = DEFAULT_PROJECT_ID

/** Counts all that has passed and then counts it again, however long the pauses between are. */
async function countTwice(): Promise<void> {
  for (let again: number | undefined = 0; again !== undefined; ) again = await tally.runOnce()
  for (;;) {
    await db.run(sql`update audit_walk set next_pass_at = now()`)
    await tally.runOnce()
    const [walk] = await db.run(sql<{ position: string | null }>`
      select position from audit_walk where name = 'history'`)
    if (walk?.position === null) return
  }
}

async function runsEndedAt(at: number, count: number): Promise<void> {
  const [task] = await tasksInAgenda(db)
  await db.run(sql`
    insert into run (run_id, task_id, project_id, scheduled_for, started_at, ended_at, version, ordinal, kind, state, outcome)
    select gen_random_uuid(), ${task?.taskId}, ${projectId}, t, t, t, 1, n, 'occurrence', 'completed', 'completed'
    from generate_series(1, ${count}::integer) n, to_timestamp(${at}::float8 / 1000) t`)
}

const findings = () => db.run(listFindings({ projectId, taskId: null, before: null, limit: 10 }))
const minuteAt = Math.floor(Date.now() / MINUTE) * MINUTE - 10 * MINUTE

test('rows deleted from counted history are found and reported once', async () => {
  await db.run(sql`update tally_progress set counted_until = now() - interval '20 minutes'`)
  await runsEndedAt(minuteAt + 1_000, 12)
  await runsEndedAt(minuteAt + 3 * MINUTE, 3)
  await countTwice()
  expect(await findings()).toEqual([])

  await db.run(sql`
    delete from run where run_id in (select run_id from run where ended_at < to_timestamp(${minuteAt + MINUTE}::float8 / 1000) limit 5)`)
  await countTwice()
  await countTwice()

  const at = new Date(minuteAt).toISOString()
  expect(await findings()).toMatchObject([
    {
      kind: 'history_rows_lost',
      taskId: null,
      isRepaired: false,
      detail: expect.stringMatching(`5 of 12 runs .* from ${at} are missing`),
    },
  ])
  const [summary] = await db.run(auditSummary({ projectId, limit: 10 }))
  expect(summary).toMatchObject({ minutesLost: 1, unrepaired: 0 })
  expect(summary?.historyEndedAt).not.toBeNull()
})

test('a run that is recorded late is not a finding', async () => {
  const before = (await findings()).length
  await runsEndedAt(minuteAt + 2_000, 4)

  await countTwice()

  expect(await findings()).toHaveLength(before)
})
