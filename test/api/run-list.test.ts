/** The list of runs over all tasks: live ones and ended ones in one order, found by index, page by page. */
import { beforeAll, describe, expect, test } from 'vitest'
import { uuidv7 } from '../../src/core/ids.ts'
import { DEFAULT_PROJECT_ID } from '../../src/core/values/default-project.ts'
import { sql } from '../../src/store/database/sql.ts'
import { createTestDatabase } from '../support/database.ts'
import { DAY_MS, makeHistory, makePastDays } from '../support/history.ts'
import { asInLists } from '../support/run-in-lists.ts'
import { createTestApp } from './test-app.ts'

const database = await createTestDatabase()
const { db } = database
const { send } = await createTestApp(database)
const DAYS = 5

const create = async (fields: Record<string, unknown> = {}): Promise<string> => {
  const task = { action: { type: 'sleep', duration: '1s' }, schedule: { type: 'manual' }, ...fields }
  return (await send('POST', '/v1/tasks', task)).body.id
}

interface Walk {
  readonly ids: string[]
  readonly states: string[]
  readonly sizes: number[]
}

async function walk(query: string, limit: number, between = async (_page: number) => {}): Promise<Walk> {
  const walked: Walk = { ids: [], states: [], sizes: [] }
  let cursor: string | null = null
  do {
    const { status, body } = await send(
      'GET',
      `/v1/runs?${query}&limit=${limit}${cursor ? `&cursor=${cursor}` : ''}`,
    )
    expect(status).toBe(200)
    for (const { id, state } of body.items) {
      walked.ids.push(id)
      walked.states.push(state)
    }
    walked.sizes.push(body.items.length)
    cursor = body.nextCursor
    await between(walked.sizes.length)
  } while (cursor !== null && walked.sizes.length < 500)
  return walked
}

/** What the list must show, found the slow way: all rows of all tables, sorted. */
async function expected({ state = null, from = null, to = null }: Record<string, string | null> = {}) {
  const rows = await db.run(sql<{ id: string }>`
    select id from (
      select run_id as id, case when state = 'scheduled' then 'pending' else state::text end as state, wake_at as at from agenda
      where state in ('pending', 'running') or (state = 'scheduled' and kind <> 'occurrence')
      union all
      select a.run_id, 'retrying', max(t.ended_at) from agenda a join attempt t on t.run_id = a.run_id where a.state = 'retrying' group by 1
      union all
      select run_id, state::text, ended_at from run
    ) r
    where (${state}::text is null or state = ${state}) and (${from}::timestamptz is null or at >= ${from}::timestamptz)
      and (${to}::timestamptz is null or at < ${to}::timestamptz)
    order by at desc, id desc`)
  return rows.map(({ id }) => id)
}

/** Live rows of a task in some state, due some time ago; a retry was due two days before. */
const makeLive = (taskId: string, state: string, count: number, dueAt: number) =>
  db.run(sql`
    insert into agenda (run_id, task_id, project_id, shard, wake_at, scheduled_for, version, ordinal, kind, serial, state, worker_id, attempt)
    select gen_random_uuid(), ${taskId}, ${DEFAULT_PROJECT_ID}, n % 64, at, case when ${state} = 'retrying' then at - interval '2 days' else at end,
           1, 0, 'manual', nextval('agenda_serial'),
           ${state}::agenda_state, case when ${state} = 'running' then ${uuidv7()}::uuid end, case when ${state} = 'retrying' then 2 else 1 end
    from (select n, to_timestamp(${dueAt}::float8 / 1000) - n * interval '7 seconds' as at from generate_series(1, ${count}::integer) as n) due`)

beforeAll(async () => {
  await makePastDays(db, DAYS)
  const ids = await Promise.all(Array.from({ length: 5 }, (_, i) => create({ name: `task ${i}` })))
  const [first = ''] = ids
  const now = Date.now()
  // Dense for an hour, nothing for two days, then a little, and a crowd that ended within a millisecond.
  await makeHistory(db, { runs: 400, from: now - 3_600_000, until: now, taskIds: ids })
  await makeHistory(db, { runs: 50, from: now - 4 * DAY_MS, until: now - 2.5 * DAY_MS, taskIds: ids })
  await makeHistory(db, { runs: 300, from: now - 3 * DAY_MS, until: now - 3 * DAY_MS + 1, taskIds: ids })
  await makeLive(first, 'pending', 20, now - 1_000)
  await makeLive(first, 'running', 20, now - 1_500_000)
  await makeLive(first, 'scheduled', 3, now)
  await makeLive(first, 'retrying', 20, now + 3_600_000)
  await db.run(sql`
    insert into attempt (run_id, task_id, started_at, ended_at, number, fence, outcome)
    select run_id, task_id, now(), now() - interval '2 days' - random() * interval '1 day' + n * interval '1 day', n, n, 'failed'
    from agenda, generate_series(1, 2) as n where state = 'retrying'`)
})

describe('paging', () => {
  test.each([7, 50, 200])('in pages of %i lists every run once, latest event first', async (limit) => {
    const { ids } = await walk('', limit)

    expect(ids).toEqual(await expected())
    expect(ids).toHaveLength(400 + 50 + 300 + 63)
  })

  test.each(['pending', 'running', 'retrying', 'completed', 'permanently_failed', 'cancelled', 'skipped'])(
    'over %s lists only such runs',
    async (state) => {
      const { ids, states } = await walk(`state=${state}`, 9)

      expect(ids.length).toBeGreaterThan(0)
      expect(ids).toEqual(await expected({ state }))
      expect(new Set(states)).toEqual(new Set([state]))
    },
  )

  test('can be limited to a range of time, also to one without runs', async () => {
    const at = (ms: number) => new Date(Date.now() - ms).toISOString()
    const bounds = [
      { from: at(1_800_000), to: null },
      { from: null, to: at(2 * DAY_MS) },
      { from: at(3.5 * DAY_MS), to: at(1_000_000) },
      { from: at(2.4 * DAY_MS), to: at(2.3 * DAY_MS) },
      { from: at(-DAY_MS), to: null },
    ]

    for (const { from, to } of bounds)
      for (const state of [null, 'permanently_failed', 'completed']) {
        const query = Object.entries({ from, to, state }).flatMap(([k, v]) => (v ? `${k}=${v}` : []))
        expect((await walk(query.join('&'), 40)).ids).toEqual(await expected({ from, to, state }))
      }
  })

  test('lists no run twice while runs end, and omits at most those that end', async () => {
    const before = await expected()
    const ended: string[] = []

    const { ids } = await walk('', 20, async () => {
      const [row] = await db.run(sql<{ id: string }>`
        with gone as (
          delete from agenda where run_id = (select run_id from agenda where state = 'running' order by wake_at desc limit 1) returning *
        )
        insert into run (run_id, task_id, project_id, scheduled_for, ended_at, version, ordinal, kind, state, outcome)
        select run_id, task_id, project_id, scheduled_for, clock_timestamp(), version, ordinal, kind, 'completed', 'completed' from gone
        returning run_id as id`)
      if (row) ended.push(row.id)
    })

    expect(ended.length).toBeGreaterThan(5)
    expect(new Set(ids).size).toBe(ids.length)
    const moved = new Set(ended)
    expect(ids.filter((id) => !moved.has(id))).toEqual(before.filter((id) => !moved.has(id)))
    expect((await walk('', 50)).ids.slice(0, ended.length).sort()).toEqual([...ended].sort())
  })
})

test('a listed run equals the run read by its id, plus the name of its task', async () => {
  const { body } = await send('GET', '/v1/runs?limit=200')

  const states = new Set<string>()
  for (const item of body.items) {
    if (states.has(item.state)) continue
    states.add(item.state)
    expect(item).toEqual(asInLists((await send('GET', `/v1/runs/${item.id}`)).body))
    expect(item.taskName).toMatch(/^task \d$/)
  }
  expect(states.size).toBeGreaterThan(4)
})

test('with a task the runs are ordered and filtered by their due instants', async () => {
  const key = 'the key stands in for a name'
  const taskId = await create({ key })
  const now = Date.now()
  await makeHistory(db, { runs: 30, from: now - 300_000, until: now, taskIds: [taskId] })
  const from = new Date(now - 200_000).toISOString()
  const to = new Date(now - 100_000).toISOString()

  const all = await walk(`taskId=${taskId}`, 7)
  const some = (await send('GET', `/v1/runs?taskId=${taskId}&from=${from}&to=${to}`)).body.items

  const direct = (await send('GET', `/v1/tasks/${taskId}/runs`)).body.items
  expect(all.ids).toEqual(direct.map(({ id }: { id: string }) => id))
  expect(all.ids).toHaveLength(30)
  const inside = direct.filter(
    (run: { scheduledFor: string }) => run.scheduledFor >= from && run.scheduledFor < to,
  )
  expect(inside).toHaveLength(10)
  expect(some).toEqual(inside)
  expect(some[0].taskName).toBe(key)
})

test('paging keeps the order when 25 000 runs are due at one instant', async () => {
  const taskId = await create()
  const at = Math.floor(Date.now() / 1_000) * 1_000 - 30 * 60_000
  await db.run(sql`
    insert into agenda (run_id, task_id, project_id, shard, wake_at, scheduled_for, version, ordinal, kind, serial, state)
    select gen_random_uuid(), ${taskId}, ${DEFAULT_PROJECT_ID}, n % 64, to_timestamp(${at}::float8 / 1000), to_timestamp(${at}::float8 / 1000),
           1, 0, 'manual', n, 'pending'
    from generate_series(1, 25000) as n`)

  const query = `state=pending&from=${new Date(at - 1_000).toISOString()}&to=${new Date(at + 1_000).toISOString()}`
  const first = (await send('GET', `/v1/runs?${query}&limit=200`)).body
  const second = (await send('GET', `/v1/runs?${query}&limit=200&cursor=${first.nextCursor}`)).body

  const seen = [...first.items, ...second.items].map(({ id }: { id: string }) => id)
  expect(seen).toEqual(
    (await expected({ state: 'pending', to: new Date(at + 1_000).toISOString() })).slice(0, 400),
  )
})

test('a search that examines too many rows stops with a cursor, and continues there', async () => {
  const taskId = await create()
  const at = Date.now() - 20 * 60_000
  await db.run(sql`
    insert into agenda (run_id, task_id, project_id, shard, wake_at, scheduled_for, version, ordinal, kind, serial, state)
    select gen_random_uuid(), ${taskId}, ${DEFAULT_PROJECT_ID}, n % 64, due, due, 1, 0, 'manual', n, 'pending'
    from (select n, to_timestamp(${at}::float8 / 1000) + n * interval '1 microsecond' as due from generate_series(1, 150000) as n) made`)
  await makeLive(taskId, 'running', 1, at - 60_000)
  const bounds = `from=${new Date(at - 120_000).toISOString()}&to=${new Date(at + 1_000).toISOString()}`

  const first = (await send('GET', `/v1/runs?state=running&${bounds}`)).body
  const all = await walk(`state=running&${bounds}`, 50)

  expect(first).toEqual({ items: [], nextCursor: expect.any(String) })
  expect(all.states).toEqual(['running'])
  expect(all.sizes.length).toBeGreaterThan(1)
})

test('a range with an invalid instant or without length is refused', async () => {
  const [good, later] = ['2026-01-01T00:00:00Z', '2026-01-02T00:00:00Z']
  const bad = [
    'yesterday',
    '2026-02-30T00:00:00.000Z',
    '2026-01-01T25:00:00Z',
    '1e5',
    '',
    '9999999-01-01T00:00:00Z',
  ]
  const pointersOf = async (path: string, ends: Record<string, string>) => {
    const { status, body } = await send('GET', `${path}?${new URLSearchParams(ends)}`)
    return [status, body.errors?.map(({ pointer }: { pointer: string }) => pointer)]
  }
  const id = await create()

  for (const path of ['/v1/runs', `/v1/tasks/${id}/ledger`]) {
    for (const no of bad) {
      expect([no, await pointersOf(path, { from: no })]).toEqual([no, [422, ['?from']]])
      expect([no, await pointersOf(path, { from: good, to: no })]).toEqual([no, [422, ['?to']]])
      expect([no, await pointersOf(path, { from: no, to: good })]).toEqual([no, [422, ['?from']]])
      expect([no, await pointersOf(path, { from: no, to: no })]).toEqual([no, [422, ['?from', '?to']]])
    }
    expect(await pointersOf(path, { from: later, to: good })).toEqual([422, ['?to']])
    expect(await pointersOf(path, { from: good, to: good })).toEqual([422, ['?to']])
  }
})
