/** Dismissing dead letters of a long history: a request is bounded, and says where to continue. */
import { expect, test } from 'vitest'
import { DEFAULT_PROJECT_ID } from '../../src/core/values/default-project.ts'
import { sql } from '../../src/store/database/sql.ts'
import { createTestDatabase } from '../support/database.ts'
import { aManualTask, startTestNode } from '../support/node.ts'

const database = await createTestDatabase()
const { db } = database
const node = await startTestNode(database)

/** Runs of a task that failed with the same error, each a millisecond after the one before. */
const fail = (taskId: string, count: number, code: string) =>
  db.run(sql`
    insert into run (run_id, task_id, project_id, scheduled_for, started_at, ended_at, version, ordinal, attempt, kind, state, outcome, error)
    select gen_random_uuid(), ${taskId}, ${DEFAULT_PROJECT_ID}, at, at, at, 1, 1, 1, 'occurrence', 'permanently_failed', 'failed',
           jsonb_build_object('code', ${code}::text, 'message', ${code}::text)
    from (select now() + n * interval '1 millisecond' as at from generate_series(1, ${count}::integer) n) t`)

const dismiss = async (body: unknown) => (await node.request('POST', '/v1/dead-letters/dismiss', body)).body

test('a request examines a part of a long history, and a repetition continues where it ended', async () => {
  const taskId = await aManualTask(node)
  await fail(taskId, 1, 'rare')
  const { key } = (await node.request('GET', '/v1/dead-letters/groups')).body.items[0]
  await fail(taskId, 205_000, 'usual')
  const filter = { fingerprint: key }

  const first = await dismiss({ filter })
  const counted = await dismiss({ filter, cursor: first.nextCursor, dryRun: true })
  const second = await dismiss({ filter, cursor: first.nextCursor })
  const again = await dismiss({ filter, cursor: first.nextCursor })

  expect(first).toEqual({ count: 0, isComplete: false, nextCursor: expect.any(String) })
  expect([counted, second, again]).toEqual(
    [1, 1, 0].map((count) => ({ count, isComplete: true, nextCursor: null })),
  )
}, 120_000)

test('a position that is not one is refused', async () => {
  const { status, body } = await node.request('POST', '/v1/dead-letters/dismiss', {
    filter: {},
    cursor: 'abc',
  })

  expect([status, body.errors]).toEqual([422, [expect.objectContaining({ pointer: '/cursor' })]])
})
