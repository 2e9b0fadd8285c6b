/** What failed for good: found, put together, dismissed, and run again by real nodes. */
import { expect, test } from 'vitest'
import { uuidv7 } from '../../src/core/ids.ts'
import { DEFAULT_PROJECT_ID } from '../../src/core/values/default-project.ts'
import { sql } from '../../src/store/database/sql.ts'
import { createTestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { aManualTask, startTestNode } from '../support/node.ts'

const database = await createTestDatabase()
const { db } = database
const node = await startTestNode(database)

const create = (fields: Record<string, unknown> = {}) => aManualTask(node, fields)

/** Runs of a task that failed for good, with the given errors, each a millisecond after the one before. */
async function fail(taskId: string, errors: readonly Record<string, unknown>[]): Promise<string[]> {
  const ids: string[] = []
  for (const error of errors) {
    const id = uuidv7()
    await db.run(sql`
      insert into run (run_id, task_id, project_id, scheduled_for, started_at, ended_at, version, ordinal, attempt, kind, state, outcome, error)
      values (${id}, ${taskId}, ${DEFAULT_PROJECT_ID}, now(), now(), clock_timestamp(), 1, 1, 1, 'occurrence', 'permanently_failed', 'failed',
              ${JSON.stringify(error)}::jsonb)`)
    ids.push(id)
  }
  return ids
}
const refusedBy = (port: number) => ({
  code: 'connect_refused',
  message: `connection refused by 10.2.0.7:${port}`,
})
const status = (code: number) => ({
  code: 'http_status',
  message: `HTTP ${code} from api.example.com`,
  detail: { status: code },
})
const list = async (query: string) => (await node.request('GET', `/v1/dead-letters?${query}`)).body
const groupsOf = async (query: string) => (await node.request('GET', `/v1/dead-letters/groups?${query}`)).body

test('failures are grouped by their cause, whatever details differ', async () => {
  const taskId = await create({ name: 'grouped' })
  const ids = await fail(taskId, [refusedBy(1), status(503), refusedBy(22), status(500), refusedBy(333)])

  const { items, isComplete } = await groupsOf(`taskId=${taskId}`)

  expect(isComplete).toBe(true)
  expect(items.map(({ code, status, count }: Record<string, unknown>) => [code, status, count])).toEqual([
    ['connect_refused', null, 3],
    ...[
      ['http_status', 500, 1],
      ['http_status', 503, 1],
    ].toSorted(
      (a, b) =>
        items.findIndex((i: { status: number }) => i.status === a[1]) -
        items.findIndex((i: { status: number }) => i.status === b[1]),
    ),
  ])
  expect(items[0]).toMatchObject({
    key: expect.stringMatching(/^[0-9a-f]{16}$/),
    pattern: 'connection refused by ….….….…:…',
    taskId,
    taskName: 'grouped',
    tasks: 1,
    sample: { runId: ids[4], message: 'connection refused by 10.2.0.7:333' },
  })
  expect(Date.parse(items[0].firstAt)).toBeLessThanOrEqual(Date.parse(items[0].lastAt))
  const found = await list(`fingerprint=${items[0].key}&taskId=${taskId}`)
  expect(found.items.map(({ id }: { id: string }) => id)).toEqual([ids[4], ids[2], ids[0]])
  expect(await groupsOf(`taskId=${taskId}&by=task`)).toMatchObject({
    items: [{ key: taskId, count: 5, taskName: 'grouped' }],
  })
  expect(await groupsOf(`taskId=${taskId}&by=hour`)).toMatchObject({
    items: [{ key: expect.stringMatching(/T\d\d:00:00\.000Z$/) }],
  })
})

test('paging lists all dead letters', async () => {
  const taskId = await create()
  const ids = await fail(
    taskId,
    Array.from({ length: 7 }, (_, i) => refusedBy(i)),
  )

  const seen: string[] = []
  let cursor = ''
  do {
    const page = await list(`taskId=${taskId}&limit=3${cursor}`)
    seen.push(...page.items.map(({ id }: { id: string }) => id))
    cursor = page.nextCursor === null ? '' : `&cursor=${page.nextCursor}`
  } while (cursor !== '')

  expect(seen).toEqual(ids.toReversed())
})

test('dismissed dead letters leave the list and stay in history', async () => {
  const taskId = await create()
  const ids = await fail(taskId, [refusedBy(1), refusedBy(2), status(500)])
  const fingerprint = (await groupsOf(`taskId=${taskId}`)).items[0].key
  const dismiss = async (body: unknown) => (await node.request('POST', '/v1/dead-letters/dismiss', body)).body

  const asked = await dismiss({ filter: { taskId, fingerprint }, dryRun: true })
  const one = await dismiss({ filter: { runIds: [ids[2]] } })
  const some = await dismiss({ filter: { taskId, fingerprint } })
  const again = await dismiss({ filter: { taskId } })

  expect([asked, one, some, again]).toEqual(
    [2, 1, 2, 0].map((count) => ({ count, isComplete: true, nextCursor: null })),
  )
  expect(await list(`taskId=${taskId}`)).toEqual({ items: [], nextCursor: null })
  expect((await node.request('GET', `/v1/runs/${ids[0]}`)).body.state).toBe('permanently_failed')
})

test('a dead letter that is rerun alone leaves the list', async () => {
  const taskId = await create()
  const [id] = await fail(taskId, [refusedBy(1)])

  const { status } = await node.request('POST', `/v1/runs/${id}/retry`)

  expect(status).toBe(201)
  expect((await list(`taskId=${taskId}`)).items).toEqual([])
})

const redriveOf = (id: string) => node.request('GET', `/v1/dead-letters/redrives/${id}`)
const ended = (id: string) =>
  eventually(
    async () => {
      const { body } = await redriveOf(id)
      return body.state === 'running' ? undefined : body
    },
    { withinMs: 60_000 },
  )
const retriesOf = (ids: readonly string[]) =>
  db.run(
    sql<{
      retryOf: string
    }>`select retry_of as "retryOf" from run_retry where retry_of = any(${`{${ids.join(',')}}`}::uuid[])`,
  )

test('a redrive by filter reruns each dead letter once, and refuses those of deleted tasks', async () => {
  const [living, dead] = [await create(), await create()]
  const ids = await fail(
    living,
    Array.from({ length: 12 }, (_, i) => refusedBy(i)),
  )
  const lost = await fail(dead, [refusedBy(1)])
  await node.request('DELETE', `/v1/tasks/${dead}`)
  const { key: fingerprint } = (await groupsOf(`taskId=${living}`)).items[0]
  const filter = { runIds: [...ids, ...lost], fingerprint }

  const forecast = await node.request('POST', '/v1/dead-letters/redrive', { filter, dryRun: true })
  const { status, body } = await node.request('POST', '/v1/dead-letters/redrive', { filter, rate: 100 })
  const done = await ended(body.id)

  expect([forecast.status, forecast.body]).toEqual([200, { count: 13, endedTasks: 1, isComplete: true }])
  expect(status).toBe(202)
  expect(done).toMatchObject({ state: 'completed', redriven: 12, refused: 1, waiting: 0 })
  expect((await retriesOf(ids)).map(({ retryOf }) => retryOf).toSorted()).toEqual(ids.toSorted())
  expect((await list(`taskId=${living}`)).items).toEqual([])
})

test('a redrive of a task with overlap skip runs its dead letters one after another', async () => {
  const taskId = await create({ overlap: 'skip' })
  const ids = await fail(taskId, [refusedBy(1), refusedBy(2), refusedBy(3)])

  const { body } = await node.request('POST', '/v1/dead-letters/redrive', { filter: { taskId }, rate: 100 })
  const done = await ended(body.id)

  expect(done).toMatchObject({ state: 'completed', redriven: 3, waiting: 0 })
  expect(await retriesOf(ids)).toHaveLength(3)
})

test('a redrive keeps its rate, continues after the loss of its node, and can be cancelled', async () => {
  const taskId = await create()
  const ids = await fail(
    taskId,
    Array.from({ length: 40 }, (_, i) => refusedBy(i)),
  )
  const { body } = await node.request('POST', '/v1/dead-letters/redrive', { filter: { taskId }, rate: 2 })
  await eventually(async () => (await retriesOf(ids)).length > 0)

  // As if the holder had died: its lease is over and the fence is another's.
  await db.run(sql`update redrive set fence = fence + 1, leased_until = '-infinity' where id = ${body.id}`)
  const before = (await retriesOf(ids)).length
  await eventually(async () => (await retriesOf(ids)).length > before + 2)
  const cancelled = await node.request('POST', `/v1/dead-letters/redrives/${body.id}/cancel`)
  const twice = await node.request('POST', `/v1/dead-letters/redrives/${body.id}/cancel`)

  expect(cancelled.body).toMatchObject({ state: 'cancelled', endedAt: expect.any(String) })
  expect([twice.status, twice.body.code]).toEqual([409, 'redrive_ended'])
  const retried = (await retriesOf(ids)).map(({ retryOf }) => retryOf)
  expect(new Set(retried).size).toBe(retried.length)
  expect(retried.length).toBeLessThan(40)
})

test.each([
  ['GET', '/v1/dead-letters?fingerprint=x', undefined, '?fingerprint'],
  ['GET', '/v1/dead-letters?from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z', undefined, '?to'],
  ['GET', '/v1/dead-letters?cursor=abc', undefined, '?cursor'],
  ['GET', '/v1/dead-letters/groups?by=colour', undefined, '?by'],
  ['POST', '/v1/dead-letters/redrive', {}, '/filter'],
  ['POST', '/v1/dead-letters/redrive', { filter: {}, rate: 0 }, '/rate'],
  ['POST', '/v1/dead-letters/dismiss', { filter: { runIds: [] } }, '/filter/runIds'],
  ['POST', '/v1/dead-letters/dismiss', { filter: { colour: 'red' } }, '/filter/colour'],
])('%s %s with %j is refused', async (method, path, body, pointer) => {
  const answer = await node.request(method, path, body)

  expect(answer.status).toBe(422)
  expect(answer.body.errors[0].pointer).toBe(pointer)
})
