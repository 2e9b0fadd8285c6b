/** More redrives than a node works on at once: slow ones use no slot while they wait, and the others take turns. */
import { expect, test } from 'vitest'
import { uuidv7 } from '../../src/core/ids.ts'
import { DEFAULT_PROJECT_ID } from '../../src/core/values/default-project.ts'
import { sql } from '../../src/store/database/sql.ts'
import { insertRedrive, leaseRedrives, saveRedrive } from '../../src/store/history/redrives.ts'
import { createTestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { aManualTask, startTestNode } from '../support/node.ts'

/** As many as a node works on at once. */
const SLOTS = 4

const database = await createTestDatabase()
const { db } = database
const node = await startTestNode(database)

/** Creates dead letters in a project, a millisecond apart; returns the task and their ids. */
async function deadLetters(count: number, projectId = DEFAULT_PROJECT_ID, taskId = uuidv7()) {
  const made = await db.run(sql<{ id: string }>`
    insert into run (run_id, task_id, project_id, scheduled_for, started_at, ended_at, version, ordinal, attempt, kind, state, outcome, error)
    select gen_random_uuid(), ${taskId}::uuid, ${projectId}::uuid, now(), now(), now() - n * interval '1 millisecond', 1, 1, 1, 'occurrence',
           'permanently_failed', 'failed', '{"code": "connect_refused", "message": "refused"}'::jsonb
    from generate_series(1, ${count}::integer) n returning run_id as id`)
  return { taskId, ids: made.map(({ id }) => id) }
}

const redrive = async (filter: Record<string, unknown>, rate: number, project = 'default') => {
  const headers = { 'belfry-project': project }
  const { status, body } = await node.request('POST', '/v1/dead-letters/redrive', { filter, rate }, headers)
  expect(status).toBe(202)
  return body.id as string
}
const stored = async (id: string) => {
  const [row] = await db.run(sql<{
    state: string
    redriven: number
    refused: number
    isFree: boolean
    fence: number
    continues: boolean
  }>`select state, redriven, refused, fence, leased_until > now() + interval '1 minute' as "isFree", pass_position is not null as continues
     from redrive where id = ${id}`)
  return row as NonNullable<typeof row>
}
const completed = (id: string) => eventually(async () => (await stored(id)).state === 'completed')

test('a slow redrive keeps no slot until its next start, and continues its pass there', async () => {
  const slow: string[] = []
  for (let i = 0; i < SLOTS; i++) {
    const { taskId } = await deadLetters(3, DEFAULT_PROJECT_ID, await aManualTask(node))
    slow.push(await redrive({ taskId }, 0.01))
  }
  for (const id of slow) await eventually(async () => (await stored(id)).redriven === 1)

  const { taskId } = await deadLetters(1, DEFAULT_PROJECT_ID, await aManualTask(node))
  await completed(await redrive({ taskId }, 100))
  const waiting = await Promise.all(slow.map(stored))
  await db.run(sql`update redrive set leased_until = now() where state = 'running'`)
  for (const id of slow) await eventually(async () => (await stored(id)).redriven === 2)

  const expected = { state: 'running', redriven: 1, refused: 0, isFree: true, fence: 1, continues: true }
  expect(waiting).toEqual(slow.map(() => expected))
  await db.run(sql`update redrive set leased_until = now() where state = 'running'`)
  for (const id of slow) await completed(id)
  expect((await Promise.all(slow.map(stored))).map(({ redriven }) => redriven)).toEqual([3, 3, 3, 3])
})

test('redrives of one project take turns with those of another', async () => {
  const name = 'patient'
  const { status } = await node.request('POST', '/v1/projects', { name })
  expect(status).toBe(201)
  const task = {
    name: 'of a project',
    schedule: { type: 'manual' },
    action: { type: 'sleep', duration: '0s' },
  }
  const made = await node.request('POST', '/v1/tasks', task, { 'belfry-project': name })
  expect(made.status).toBe(201)
  const [project] = await db.run(sql<{ id: string }>`select id from project where name = ${name}`)
  const loud: string[] = []
  for (let i = 0; i < SLOTS * 2; i++) {
    const { taskId } = await deadLetters(1_000, DEFAULT_PROJECT_ID, await aManualTask(node))
    loud.push(await redrive({ taskId }, 5))
  }
  await eventually(
    async () => (await Promise.all(loud.map(stored))).filter((one) => one.redriven > 0).length >= SLOTS,
  )

  const { taskId } = await deadLetters(2, project?.id, made.body.id)
  const id = await redrive({ taskId }, 100, name)
  await completed(id)
  await eventually(async () => (await Promise.all(loud.map(stored))).every((one) => one.redriven > 0))

  expect((await stored(id)).redriven).toBe(2)
  expect((await Promise.all(loud.map(stored))).every(({ state }) => state === 'running')).toBe(true)
})

test('a pass continues only where the lease before it ended', async () => {
  const { db: quiet } = await createTestDatabase()
  const id = uuidv7()
  const position = { us: 1, id: uuidv7() }
  await quiet.run(insertRedrive({ id, projectId: DEFAULT_PROJECT_ID, filter: {}, rate: 1 }))
  const lease = async () => (await quiet.run(leaseRedrives({ redrives: [{ id }], leaseMs: 0 })))[0]
  const counts = {
    redriven: 0,
    refused: 0,
    waiting: 0,
    lastError: null,
    state: 'running',
    reservedMs: 0,
  } as const
  const first = await lease()
  await quiet.run(saveRedrive({ ...counts, id, fence: first?.fence ?? 0, passPosition: position }))

  const second = await lease()
  // The second lease is one of an older node, which stores no position.
  const third = await lease()

  expect([first, second, third].map((one) => one?.passPosition)).toEqual([null, position, null])
})

test('dead letters of ended tasks are refused at once, however slow the redrive is', async () => {
  const { taskId } = await deadLetters(500, DEFAULT_PROJECT_ID, await aManualTask(node))
  await node.request('POST', `/v1/tasks/${taskId}/cancel`)

  const id = await redrive({ taskId }, 0.01)
  await completed(id)

  expect(await stored(id)).toMatchObject({ redriven: 0, refused: 500 })
})
