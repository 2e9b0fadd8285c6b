/** One row that PostgreSQL refuses keeps nobody from taking on the others: backfills, subscriptions, and runs that are claimed. */
import { expect, test } from 'vitest'
import { uuidv7 } from '../../src/core/ids.ts'
import { DEFAULT_PROJECT_ID } from '../../src/core/values/default-project.ts'
import { Backfiller } from '../../src/scheduler/backfiller.ts'
import { insertBackfill } from '../../src/store/backfills/backfills.ts'
import type { Database } from '../../src/store/database/database.ts'
import { sql } from '../../src/store/database/sql.ts'
import { silentLogger } from '../../src/telemetry/logger.ts'
import { Definitions } from '../../src/transport/definitions.ts'
import { LocalWakeUps } from '../../src/transport/wake-ups.ts'
import { endedRow, liveRow, tasksInAgenda } from '../support/agenda.ts'
import { createTestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { createAll, heldPlaces } from '../support/limits.ts'
import { aManualTask, startTestNode } from '../support/node.ts'
import { aWorker } from '../support/remote-worker.ts'
import { startSink } from '../support/sink.ts'

const COUNT = 8

const reports = (db: Database) =>
  db.run(sql<{ operation: string; subject: string }>`
    select operation, subject from refused_row where settled_at is null`)

test('a backfill that cannot be written does not block others, and is written once it can be', async () => {
  const { db } = await createTestDatabase()
  const from = Date.UTC(2026, 0, 1)
  const schedule = { type: 'every', interval: '1s', anchor: '2026-01-01T00:00:00Z' } as const
  const dueAt = Date.now() + 86_400_000
  const tasks = await tasksInAgenda(db, { count: 3, dueAt, definition: { schedule, overlap: 'allow' } })
  const backfills = tasks.map(({ taskId }) => ({ id: uuidv7(), taskId }))
  for (const backfill of backfills)
    await db.run(
      insertBackfill({
        ...{ ...backfill, projectId: DEFAULT_PROJECT_ID, version: 1, from, to: from + 5_000 },
        ...{ newestFirst: false, oneByOne: false, force: false, rate: null, maxRuns: null },
        ...{ occurrences: 5, reason: null, madeBy: null },
      }),
    )
  const [bad] = backfills
  await db.run({
    text: `alter table agenda add constraint refused_by_test check (task_id <> '${bad?.taskId}' or kind <> 'backfill')`,
    values: [],
  })
  const backfiller = new Backfiller({
    ...{ db, definitions: new Definitions(db), wakeUps: new LocalWakeUps(), log: silentLogger() },
  })
  const written = async () => {
    const rows = await db.run(sql<{ taskId: string; count: number }>`
      select task_id as "taskId", count(*)::integer as count from agenda where kind = 'backfill' group by task_id`)
    return new Map(rows.map(({ taskId, count }) => [taskId, count]))
  }

  await backfiller.runOnce()
  const besides = await written()
  const refused = await reports(db)
  await db.run({ text: 'alter table agenda drop constraint refused_by_test', values: [] })
  await eventually(async () => {
    await backfiller.runOnce()
    return (await written()).size === 3
  })

  expect(besides).toEqual(new Map(tasks.slice(1).map(({ taskId }) => [taskId, 5])))
  expect(refused).toEqual([{ operation: 'backfill', subject: bad?.id }])
  expect((await written()).get(bad?.taskId ?? '')).toBe(5)
  expect(await reports(db)).toEqual([])
})

test('a subscription that cannot be leased does not block deliveries to others', async () => {
  const database = await createTestDatabase()
  const { db } = database
  const sink = await startSink()
  const api = await startTestNode(database, { roles: 'api' })
  const ids: string[] = []
  for (const path of ['bad', 'a', 'b', 'c']) {
    const { status, body } = await api.request('POST', '/v1/subscriptions', { url: `${sink.url}/${path}` })
    expect(status).toBe(201)
    ids.push(body.id)
  }
  const bad = ids[0] ?? ''
  await db.run({
    text: `alter table subscription add constraint refused_by_test check (id <> '${bad}' or holder is null) not valid`,
    values: [],
  })

  const node = await startTestNode(database)
  await node.request('POST', `/v1/tasks/${await aManualTask(node)}/trigger`)

  await eventually(async () => sink.hits.length >= 3 && (await reports(db)).length > 0)
  expect(sink.hits.map(({ path }) => path).toSorted()).toEqual(['/a', '/b', '/c'])
  expect(await reports(db)).toEqual([{ operation: 'subscription', subject: bad }])
})

/** Runs that wait for a worker, of which the one in front cannot be claimed: it has had as many attempts as can be counted. */
async function waitingRuns(
  fields: Record<string, unknown>,
): Promise<{ database: Awaited<ReturnType<typeof createTestDatabase>>; url: string; runIds: string[] }> {
  const database = await createTestDatabase()
  const { db } = database
  const node = await startTestNode(database, { roles: 'api' })
  await createAll(
    node,
    Array.from({ length: COUNT }, () => ({ ...fields })),
  )
  const rows = await db.run(sql<{ runId: string }>`
    update agenda set state = 'pending' returning run_id as "runId"`)
  const runIds = rows.map(({ runId }) => runId)
  await db.run(sql`update agenda set attempt = 32767, priority = -1 where run_id = ${runIds[0] ?? ''}`)
  await db.run(sql`
    insert into ready (lane, priority, wake_at, run_id) select lane, priority, wake_at, run_id from agenda`)
  return { database, url: node.url, runIds }
}

test('a run that cannot be claimed does not block others behind its gate, and no slot is lost', async () => {
  const { database, runIds } = await waitingRuns({
    action: { type: 'sleep', duration: '0s' },
    ...{ concurrencyKey: 'two', concurrencyLimit: 2 },
  })
  const { db } = database
  const [bad = '', ...others] = runIds

  await startTestNode(database, { roles: 'worker' })

  for (const runId of others) await eventually(async () => (await endedRow(db, runId))?.state === 'completed')
  expect(await liveRow(db, bad)).toMatchObject({ state: 'pending', workerId: null })
  expect(await heldPlaces(db)).toEqual([])
  expect(await reports(db)).toEqual([{ operation: 'claim', subject: bad }])
})

test.each([
  ['', {}],
  [' behind a gate', { concurrencyKey: 'many', concurrencyLimit: COUNT }],
])('a remote worker gets runs%s although the first one cannot be claimed', async (_, gate) => {
  const { database, url, runIds } = await waitingRuns({ action: { type: 'handler', name: 'h' }, ...gate })
  const { db } = database
  const [bad = '', ...others] = runIds
  const worker = await aWorker(url, { handlers: ['h'], concurrency: COUNT })

  const given = new Set<string>()
  while (given.size < others.length)
    for (const { runId } of await worker.claim(COUNT - given.size)) given.add(runId)

  expect([...given].toSorted()).toEqual(others.toSorted())
  expect(await liveRow(db, bad)).toMatchObject({ state: 'pending', workerId: null })
  expect(await reports(db)).toEqual([{ operation: 'claim', subject: bad }])
})
