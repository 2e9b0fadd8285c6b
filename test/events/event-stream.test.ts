/** The stream of events, over real sockets, on two nodes of one database. */
import { expect, test } from 'vitest'
import { formatPosition } from '../../src/core/run/frontier.ts'
import { sql } from '../../src/store/database/sql.ts'
import { createTestDatabase } from '../support/database.ts'
import { type EventSource, openEvents } from '../support/event-source.ts'
import { eventually } from '../support/eventually.ts'
import { DAY_MS } from '../support/history.ts'
import { aManualTask, startTestNode } from '../support/node.ts'

const database = await createTestDatabase()
const { db } = database
/** One does everything, the other only answers: what it tells it cannot know from itself. */
const worker = await startTestNode(database)
const watched = await startTestNode(database, { roles: 'api' })

const watch = async (query = '', { headers = {}, node = watched } = {}) => {
  const source = await openEvents(`${node.url}/v1/events${query}`, headers)
  expect(source.status).toBe(200)
  await source.next('hello')
  return source
}
const create = (fields: Record<string, unknown> = {}) => aManualTask(worker, fields)
const trigger = async (id: string) =>
  (await worker.request('POST', `/v1/tasks/${id}/trigger`)).body.id as string
const ended = (id: string) =>
  eventually(async () => (await worker.request('GET', `/v1/runs/${id}`)).body.endedAt !== null)

const toldBy = ({ events }: EventSource): string[] =>
  events.flatMap(({ event, data }) => (event.startsWith('belfry.run.') ? [data.data.run.id] : []))
const about = (id: string) => (data: { data: { run: { id: string } } }) => data.data.run.id === id

test('the end of a run on another node is streamed as a CloudEvent', async () => {
  const source = await watch()
  const taskId = await create({ name: 'told', key: 'told', owner: 'ann', tags: ['a', 'b'], queue: 'mail' })

  const runId = await trigger(taskId)

  const { event, data } = await source.next('belfry.run.completed', about(runId))
  const { body: run } = await worker.request('GET', `/v1/runs/${runId}`)
  expect(event).toBe('belfry.run.completed')
  expect(data).toEqual({
    specversion: '1.0',
    id: `${runId}.ended`,
    source: expect.stringMatching(/^\/projects\/[0-9a-f-]{36}$/),
    type: 'belfry.run.completed',
    subject: taskId,
    time: run.endedAt,
    datacontenttype: 'application/json',
    data: {
      run: {
        id: runId,
        state: 'completed',
        kind: 'manual',
        reason: null,
        outcome: 'completed',
        scheduledFor: run.scheduledFor,
        startedAt: run.startedAt,
        endedAt: run.endedAt,
        latenessMs: run.latenessMs,
        attempt: 1,
        losses: 0,
        version: 1,
        retryOf: null,
        covers: null,
        error: null,
      },
      task: {
        id: taskId,
        name: 'told',
        key: 'told',
        owner: 'ann',
        tags: ['a', 'b'],
        type: 'sleep',
        queue: 'mail',
        tracingId: null,
      },
    },
  })
})

test('a client that reconnects with an event id receives all later events, from any node', async () => {
  const taskId = await create()
  const source = await watch()
  const runs = [await trigger(taskId)]
  const first = await source.next('belfry.run.completed', about(runs[0] ?? ''))
  source.close()
  for (let i = 0; i < 3; i++) {
    const id = await trigger(taskId)
    runs.push(id)
    await ended(id)
  }

  const again = await watch('', { headers: { 'last-event-id': first.id }, node: worker })
  await again.next('belfry.run.completed', about(runs.at(-1) ?? ''))
  const byQuery = await watch(`?after=${first.id}`)
  await byQuery.next('belfry.run.completed', about(runs.at(-1) ?? ''))

  expect(toldBy(again)).toEqual(runs.slice(1))
  expect(toldBy(byQuery)).toEqual(runs.slice(1))
})

test('a stream from a given instant contains only runs that ended since', async () => {
  const taskId = await create()
  const before = await trigger(taskId)
  await ended(before)
  const [clock] = await db.run(sql<{ now: number }>`select clock_timestamp() as now`)
  const after = await trigger(taskId)

  const source = await watch(`?after=${new Date(clock?.now ?? 0).toISOString()}`)
  await source.next('belfry.run.completed', about(after))

  expect(toldBy(source)).not.toContain(before)
})

test('filters exclude events that do not match', async () => {
  const filters = ['state=cancelled', 'tag=red', 'owner=bob', 'queue=slow', 'type=sleep']
  const wanted = await create({ tags: ['red', 'blue'], owner: 'bob', queue: 'slow' })
  const other = await create({
    tags: ['blue'],
    action: { type: 'ping', url: 'http://127.0.0.1:1' },
    retry: { limit: 0 },
  })
  const sources = await Promise.all(
    [...filters, `taskId=${wanted.toUpperCase()}`].map((filter) => watch(`?${filter}`)),
  )
  const all = await watch()

  const failed = await trigger(other)
  await all.next('belfry.run.permanently_failed', about(failed))
  const completed = await trigger(wanted)
  await all.next('belfry.run.completed', about(completed))

  const [none, ...some] = sources
  for (const source of some) {
    await source.next('belfry.run.completed', about(completed))
    expect(toldBy(source)).toEqual([completed])
  }
  expect(none && toldBy(none)).toEqual([])
})

test('an id from before history, or an unknown one, is answered with a gap', async () => {
  const old = await watch(`?after=${new Date(Date.now() - 400 * DAY_MS).toISOString()}`)
  const strange = await watch('', { headers: { 'last-event-id': 'of another server' } })

  expect((await old.next('gap')).data).toMatchObject({
    reason: 'history_dropped',
    from: expect.stringMatching(/Z$/),
  })
  expect((await strange.next('gap')).data).toMatchObject({ reason: 'position_unknown' })
})

test('a stream from before the retained history of its project begins with a gap', async () => {
  await db.run(
    sql`insert into retention (project_id, history_from) select id, now() - interval '1 day' from project`,
  )
  const [deleted] = await db.run(sql<{ at: number }>`select history_from as at from retention limit 1`)
  const begin = Math.floor(deleted?.at ?? 0)

  const old = await watch(`?after=${new Date(begin - 1_000).toISOString()}`)
  const { data } = await old.next('gap')
  const recent = await watch(`?after=${new Date(begin + 1_000).toISOString()}`)
  const runId = await trigger(await create())
  await recent.next('belfry.run.completed', about(runId))
  await db.run(sql`delete from retention`)

  expect(data).toEqual({ reason: 'history_dropped', from: new Date(begin).toISOString() })
  expect(recent.events.map(({ event }) => event)).not.toContain('gap')
})

test('a stream of the audit log of all projects begins with a gap if one of them has lost entries', async () => {
  const all = (minutes: number) =>
    watch(`?events=audit-log&scope=all&after=${new Date(Date.now() - minutes * 60_000).toISOString()}`)
  await db.run(
    sql`insert into retention (project_id, audit_log_from) select id, date_trunc('second', now() - interval '30 minutes') from project`,
  )
  const [deleted] = await db.run(sql<{ at: number }>`select audit_log_from as at from retention limit 1`)
  // Otherwise it is as old as the template of this database, which is made before all tests.
  await db.run(sql`update project set created_at = now()`)

  // The project is younger than that and has lost nothing.
  const young = await all(40)
  await create()
  await young.next('belfry.audit.task.create')
  await db.run(sql`update project set created_at = now() - interval '1 day'`)
  const old = await all(40)
  const recent = await all(20)
  const { data } = await old.next('gap')
  await create()
  for (const source of [young, recent]) await source.next('belfry.audit.task.create')
  await db.run(sql`delete from retention`)
  await db.run(sql`update project set created_at = now()`)

  expect(data).toEqual({ reason: 'history_dropped', from: new Date(deleted?.at ?? 0).toISOString() })
  for (const { events } of [young, recent]) expect(events.map(({ event }) => event)).not.toContain('gap')
})

test('an id from a later history, as after a backup was restored, is answered with a gap', async () => {
  const from = { xmax: 2 ** 40, fromUs: Date.now() * 1_000, pending: [] }
  const lastEventId = formatPosition({ from, to: null, at: null })
  const source = await watch('', { headers: { 'last-event-id': lastEventId } })

  expect((await source.next('gap')).data).toMatchObject({ reason: 'position_unknown' })
  const run = await trigger(await create())
  await source.next('belfry.run.completed', about(run))
})

test.each(['after=yesterday', 'after=1.x', 'state=running', 'taskId=1', 'queue=', 'colour=red'])(
  'refuses ?%s',
  async (query) => {
    const { status, body } = await watched.request('GET', `/v1/events?${query}`)

    expect(status).toBe(422)
    expect(body.errors[0].pointer).toBe(`?${query.split('=')[0]}`)
  },
)

test('a node that stops says so in its streams, and another node continues them', async () => {
  const leaving = await startTestNode(database, { roles: 'api' })
  const source = await watch('', { node: leaving })
  const hello = await source.next('hello')

  await leaving.stop()
  await source.ended

  expect(source.events.at(-1)).toMatchObject({ event: 'end', data: { reason: 'stopping' } })
  const runId = await trigger(await create())
  const again = await watch('', { headers: { 'last-event-id': hello.id } })
  await again.next('belfry.run.completed', about(runId))
})
