/** Lists in pages and with filters: every item once, in order, whatever shares an instant. */
import { beforeAll, describe, expect, test } from 'vitest'
import { uuidv7 } from '../../src/core/ids.ts'
import { DEFAULT_PROJECT_ID } from '../../src/core/values/default-project.ts'
import { searchTasks } from '../../src/operations/tasks/search-tasks.ts'
import { sql } from '../../src/store/database/sql.ts'
import { MAX_ACTIVE_PER_SHARD } from '../../src/store/tasks/active-tasks.ts'
import { tasksInAgenda } from '../support/agenda.ts'
import { createTestDatabase } from '../support/database.ts'
import { createTestApp } from './test-app.ts'

const database = await createTestDatabase()
const { db } = database
const { send } = await createTestApp(database)

const action = { type: 'sleep', duration: '1s' }
const later = { type: 'once', at: '2099-01-01T00:00:00Z' }

/** All items of a list, page by page. */
async function walk(url: string, limit: number) {
  const pages: Record<string, unknown>[][] = []
  let cursor: string | null = null
  do {
    const address: string = `${url}${url.includes('?') ? '&' : '?'}limit=${limit}${cursor ? `&cursor=${cursor}` : ''}`
    const { status, body } = await send('GET', address)
    expect(status).toBe(200)
    pages.push(body.items)
    cursor = body.nextCursor
  } while (cursor !== null && pages.length < 100)
  return { pages, items: pages.flat() as Record<string, string & number>[] }
}

interface Ended {
  readonly scheduledFor: number
  readonly endedAt: number
  readonly attempts: number
  readonly state?: string
}

/** A run in history, with its attempts. */
async function endedRun(taskId: string, { scheduledFor, endedAt, attempts, state = 'completed' }: Ended) {
  const id = uuidv7()
  await db.run(sql`
    insert into run (run_id, task_id, project_id, scheduled_for, started_at, ended_at, version, ordinal, fence, attempt, kind, state, outcome)
    values (${id}, ${taskId}, ${DEFAULT_PROJECT_ID}, to_timestamp(${scheduledFor}::float8 / 1000), to_timestamp(${endedAt}::float8 / 1000),
            to_timestamp(${endedAt}::float8 / 1000), 1, 1, ${attempts}, ${attempts}, 'occurrence', ${state}::run_state, 'completed')`)
  await db.run(sql`
    insert into attempt (run_id, task_id, started_at, ended_at, number, fence, outcome)
    select ${id}, ${taskId}, to_timestamp(${endedAt}::float8 / 1000), to_timestamp(${endedAt}::float8 / 1000), n, n, 'failed'
    from generate_series(1, ${attempts}::integer - 1) as n`)
  return id
}

test('paging lists each of many tasks once, newest first', async () => {
  const { body } = await send('POST', '/v1/tasks/bulk', {
    tasks: Array.from({ length: 250 }, (_, i) => ({
      action,
      schedule: later,
      name: `walk ${i}`,
      owner: 'walker',
    })),
  })
  const made = body.items.map(({ id }: { id: string }) => id)

  const { pages, items } = await walk('/v1/tasks?owner=walker', 60)

  expect(pages.map((page) => page.length)).toEqual([60, 60, 60, 60, 10])
  expect(items.map(({ id }) => id)).toEqual(made.toReversed())
})

test('a task created during paging does not change the remaining pages', async () => {
  const made = async (name: string) =>
    (await send('POST', '/v1/tasks', { action, schedule: later, name, owner: 'disturbed' })).body.id
  const ids = [await made('a'), await made('b'), await made('c')]
  const first = (await send('GET', '/v1/tasks?owner=disturbed&limit=2')).body
  await made('d')

  const second = (await send('GET', `/v1/tasks?owner=disturbed&limit=2&cursor=${first.nextCursor}`)).body

  expect([...first.items, ...second.items].map(({ id }) => id)).toEqual(ids.toReversed())
  expect(second.nextCursor).toBeNull()
})

test('tasks are filtered by state, type, tag, owner and part of their name or key, also together', async () => {
  const create = async (fields: Record<string, unknown>) =>
    (await send('POST', '/v1/tasks', { action, schedule: later, ...fields })).body.id
  const ids = {
    plain: await create({ name: 'Report of sales', tags: ['filter', 'a'], owner: 'ann' }),
    ping: await create({ action: { type: 'ping', url: 'http://x' }, tags: ['filter', 'b'], owner: 'ann' }),
    paused: await create({ key: 'nightly-REPORT', tags: ['filter', 'a'], owner: 'bob' }),
    cancelled: await create({ name: '100%_sure', tags: ['filter'], owner: 'bob' }),
    manual: await create({ schedule: { type: 'manual' }, tags: ['filter'] }),
    pending: await create({ schedule: { type: 'manual' }, tags: ['filter'] }),
  }
  await send('POST', `/v1/tasks/${ids.paused}/pause`)
  await send('POST', `/v1/tasks/${ids.cancelled}/cancel`)
  await send('POST', `/v1/tasks/${ids.pending}/trigger`)
  const found = async (query: string) => {
    const { items } = (await send('GET', `/v1/tasks?tag=filter&${query}`)).body
    const names = Object.entries(ids).map(([name, id]) => [id, name])
    return items.map(({ id }: { id: string }) => Object.fromEntries(names)[id]).sort()
  }

  expect(await found('limit=200')).toEqual(Object.keys(ids).sort())
  expect(await found('state=scheduled')).toEqual(['manual', 'ping', 'plain'])
  expect(await found('state=paused')).toEqual(['paused'])
  expect(await found('state=cancelled')).toEqual(['cancelled'])
  expect(await found('state=pending')).toEqual(['pending'])
  expect(await found('state=running')).toEqual([])
  expect(await found('state=finished')).toEqual([])
  expect(await found('type=ping')).toEqual(['ping'])
  expect(await found('owner=ann')).toEqual(['ping', 'plain'])
  expect(await found('q=report')).toEqual(['paused', 'plain'])
  expect(await found('q=%25_')).toEqual(['cancelled'])
  expect(await found('q=%25')).toEqual(['cancelled'])
  expect(await found('owner=bob&q=report&state=paused')).toEqual(['paused'])
  expect((await send('GET', '/v1/tasks?tag=b&type=ping')).body.items).toMatchObject([{ id: ids.ping }])
})

test('paging lists each run once, latest first, when runs share instants', async () => {
  const { body: task } = await send('POST', '/v1/tasks', {
    action,
    schedule: { type: 'manual' },
    overlap: 'allow',
  })
  const at = Date.now() - 60_000
  for (let i = 0; i < 22; i++)
    await endedRun(task.id, {
      scheduledFor: at + Math.floor(i / 8) * 1_000,
      endedAt: at + 5_000,
      attempts: 1,
    })
  for (let i = 0; i < 3; i++) await send('POST', `/v1/tasks/${task.id}/trigger`)

  const { pages, items } = await walk(`/v1/tasks/${task.id}/runs`, 10)
  const completed = await walk(`/v1/tasks/${task.id}/runs?state=completed`, 10)
  const pending = await walk(`/v1/tasks/${task.id}/runs?state=pending`, 10)

  expect(pages.map((page) => page.length)).toEqual([10, 10, 5])
  expect(new Set(items.map(({ id }) => id)).size).toBe(25)
  const order = items.map(({ scheduledFor, id }) => `${scheduledFor} ${id}`)
  expect(order).toEqual(order.toSorted().toReversed())
  expect(completed.items).toHaveLength(22)
  expect(pending.items).toHaveLength(3)
})

test('paging lists each attempt once, latest run and last attempt first', async () => {
  const { body: task } = await send('POST', '/v1/tasks', { action, schedule: { type: 'manual' } })
  const at = Date.now() - 60_000
  for (let i = 0; i < 10; i++) {
    // Ended within one millisecond, in fractions of it, as workers write it.
    await endedRun(task.id, {
      scheduledFor: at + Math.floor(i / 4),
      endedAt: at + 1_000 + i / 10,
      attempts: (i % 4) + 1,
    })
  }

  const { pages, items } = await walk(`/v1/tasks/${task.id}/attempts`, 10)
  const single = await walk(`/v1/tasks/${task.id}/attempts`, 1)

  expect(pages.map((page) => page.length)).toEqual([10, 10, 3])
  expect(new Set(items.map(({ runId, number }) => `${runId}/${number}`)).size).toBe(23)
  const order = items.map(({ scheduledFor, runId, number }) => `${scheduledFor} ${runId} ${number}`)
  expect(order).toEqual(order.toSorted().toReversed())
  expect(single.items).toEqual(items)
})

test('the ended attempts of a run that is retrying or running are listed, not the current one', async () => {
  const { body: task } = await send('POST', '/v1/tasks', { action, schedule: later, overlap: 'allow' })
  await db.run(sql`update agenda set state = 'retrying', attempt = 2 where task_id = ${task.id}`)
  await db.run(sql`
    insert into attempt (run_id, task_id, ended_at, number, fence, outcome)
    select run_id, task_id, now(), n, n, 'failed' from agenda, generate_series(1, 2) as n where task_id = ${task.id}`)

  const retrying = await walk(`/v1/tasks/${task.id}/attempts`, 1)
  await db.run(
    sql`update agenda set state = 'running', attempt = 3, worker_id = ${uuidv7()} where task_id = ${task.id}`,
  )
  const running = await walk(`/v1/tasks/${task.id}/attempts`, 1)

  expect(retrying.items.map(({ number }) => number)).toEqual([2, 1])
  expect(running.items.map(({ number }) => number)).toEqual([2, 1])
})

test('a task is found by its key, whatever characters it has', async () => {
  for (const key of ['plain', 'with space', 'a/b?c=d&e#f', 'ключ 🔑', '%2F', 'quote\'"', '...']) {
    const { body: task } = await send('POST', '/v1/tasks', { action, schedule: later, key })

    const { status, body } = await send('GET', `/v1/tasks/by-key/${encodeURIComponent(key)}`)

    expect([key, status]).toEqual([key, 200])
    expect(body.id).toBe(task.id)
  }
})

test('tasks are shown with their latest runs and next instants when asked for', async () => {
  const create = async (fields: Record<string, unknown>) =>
    (await send('POST', '/v1/tasks', { action, owner: 'strip', ...fields })).body.id
  const daily = { type: 'daily', hour: 9, minute: 30, timezone: 'Asia/Kolkata' }
  const [busy, idle, paused] = [
    await create({ schedule: daily, name: 'busy' }),
    await create({ schedule: { type: 'manual' } }),
    await create({ schedule: { type: 'every', interval: '90s' } }),
  ]
  await send('POST', `/v1/tasks/${paused}/pause`)
  const at = Date.now() - 3_600_000
  const ids: string[] = []
  for (let i = 0; i < 25; i++)
    ids.push(
      await endedRun(busy, { scheduledFor: at + i * 1_000, endedAt: at + i * 1_000 + 250, attempts: 1 }),
    )

  const plain = (await send('GET', '/v1/tasks?owner=strip')).body.items
  const { items } = (await send('GET', '/v1/tasks?owner=strip&include=recent,next')).body
  const alone = (await send('GET', `/v1/tasks/${busy}?include=recent`)).body

  const [ofPaused, ofIdle, ofBusy] = items
  expect(plain.map(({ id }: { id: string }) => id)).toEqual([paused, idle, busy])
  for (const task of plain) expect(task).not.toHaveProperty('recent')
  expect(ofBusy.recent.map(({ id }: { id: string }) => id)).toEqual(ids.toReversed().slice(0, 20))
  expect(ofBusy.recent[0]).toEqual({
    id: ids[24],
    state: 'completed',
    reason: null,
    scheduledFor: new Date(at + 24_000).toISOString(),
    startedAt: new Date(at + 24_250).toISOString(),
    endedAt: new Date(at + 24_250).toISOString(),
    latenessMs: null,
    durationMs: 0,
  })
  expect(ofBusy.scheduleInWords).toBe('Every day at 09:30 (Asia/Kolkata)')
  expect(ofBusy.next).toHaveLength(5)
  expect(ofBusy.next[0].at).toBe(ofBusy.nextFireAt)
  for (const { at, local } of ofBusy.next) {
    expect(local).toMatch(/T09:30:00\.000\+05:30$/)
    expect(Date.parse(local)).toBe(Date.parse(at))
  }
  expect(ofIdle).toMatchObject({ recent: [], next: [], scheduleInWords: 'Only when triggered' })
  expect(ofPaused).toMatchObject({ recent: [], next: [], scheduleInWords: 'Every 1 minute 30 seconds' })
  expect(alone.recent).toEqual(ofBusy.recent)
  expect(alone).not.toHaveProperty('next')
})

describe('behind thousands of newer tasks', () => {
  const fields = { action, schedule: later, owner: 'far' }
  const old: Record<string, string> = {}
  beforeAll(async () => {
    for (const name of ['paused', 'cancelled', 'running', 'pending', 'retrying', 'finished'])
      old[name] = (await send('POST', '/v1/tasks', fields)).body.id
    await send('POST', `/v1/tasks/${old['paused']}/pause`)
    await send('POST', `/v1/tasks/${old['cancelled']}/cancel`)
    await db.run(sql`
      update agenda set state = 'running', worker_id = gen_random_uuid(), wake_at = now() - interval '1 minute',
                        scheduled_for = now() - interval '1 minute'
      where task_id = ${old['running']}`)
    await db.run(sql`
      update agenda set state = 'pending', wake_at = now() - interval '1 minute', scheduled_for = now() - interval '1 minute'
      where task_id = ${old['pending']}`)
    await db.run(sql`
      update agenda set state = 'retrying', attempt = 1, wake_at = now() + interval '1 hour', scheduled_for = now() - interval '1 minute'
      where task_id = ${old['retrying']}`)
    await db.run(sql`delete from agenda where task_id = ${old['finished']}`)
    for (let i = 0; i < 3; i++)
      await send('POST', '/v1/tasks/bulk', { tasks: Array.from({ length: 2_000 }, () => fields) })
  })

  test.each([
    ['paused', ['paused']],
    ['cancelled', ['cancelled']],
    ['running', ['running']],
    ['pending', ['retrying', 'pending']],
    ['finished', ['finished']],
  ])('the %s tasks are on the first page', async (state, names) => {
    const { items, ...rest } = (await send('GET', `/v1/tasks?owner=far&state=${state}`)).body

    expect(items.map(({ id }: { id: string }) => id)).toEqual(names.map((name) => old[name]))
    expect(rest).toEqual({ nextCursor: null, partial: false })
  })

  test('scheduled tasks fill every page except the last', async () => {
    const { pages, items } = await walk('/v1/tasks?owner=far&state=scheduled', 200)

    expect(pages.map((page) => page.length)).toEqual(Array.from({ length: 30 }, () => 200))
    expect(new Set(items.map(({ id }) => id)).size).toBe(6_000)
  })

  test('a search that runs out of time stops, and the next page continues there', async () => {
    for (let i = 0; i < 3; i++) await tasksInAgenda(db, { count: 5_000, dueAt: Date.now() + 3_600_000 })
    const search = { projectId: DEFAULT_PROJECT_ID, state: 'finished' } as const

    const first = await searchTasks({ db }, search, { limit: 50, budgetMs: 0 })
    const found: string[] = []
    let searches = 0
    for (let before: string | null | undefined; before !== null; searches++) {
      const page = await searchTasks({ db }, { ...search, before }, { limit: 50, budgetMs: 0 })
      found.push(...page.rows.map(({ id }) => id))
      before = page.examined
    }

    expect(first).toEqual({ rows: [], examined: expect.any(String) })
    expect(found).toEqual([old['finished']])
    expect(searches).toBe(3)
  })

  test('running tasks are found even when more pending runs exist than are examined', async () => {
    const busy = (await send('POST', '/v1/tasks', { ...fields, overlap: 'allow' })).body.id
    await db.run(sql`
      insert into agenda (run_id, task_id, project_id, shard, wake_at, scheduled_for, version, ordinal, kind, state, serial)
      select gen_random_uuid(), task_id, project_id, shard, now() - interval '1 minute', now() - interval '1 minute', 1, 1, 'manual', 'pending', n
      from agenda, generate_series(1, ${MAX_ACTIVE_PER_SHARD}::integer) as n where task_id = ${busy}`)

    const running = (await send('GET', '/v1/tasks?owner=far&state=running')).body
    const pending = (await send('GET', '/v1/tasks?owner=far&state=pending')).body
    await send('POST', `/v1/tasks/${busy}/cancel`)

    expect(running.items.map(({ id }: { id: string }) => id)).toEqual([old['running']])
    expect(running).toMatchObject({ nextCursor: null, partial: false })
    expect(pending.items.map(({ id }: { id: string }) => id)).toEqual([busy, old['retrying'], old['pending']])
  })

  test('the next page of active tasks continues after the last one', async () => {
    const { items, pages } = await walk('/v1/tasks?owner=far&state=pending', 1)

    expect(items.map(({ id }) => id)).toEqual([old['retrying'], old['pending']])
    expect(pages).toHaveLength(2)
  })
})
