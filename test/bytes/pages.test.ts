/** Lists of long rows: every page ends soon after 1 MiB, and its cursor leads to the row behind it, so each row is read exactly once. */
import { beforeAll, describe, expect, test } from 'vitest'
import { DEFAULT_PROJECT_ID } from '../../src/core/values/default-project.ts'
import { MAX_PAGE_BYTES } from '../../src/store/database/page-bytes.ts'
import { sql } from '../../src/store/database/sql.ts'
import { createTestDatabase } from '../support/database.ts'
import { openEvents } from '../support/event-source.ts'
import { eventually } from '../support/eventually.ts'
import { aManualTask, startTestNode } from '../support/node.ts'

const database = await createTestDatabase()
const { db } = database
const node = await startTestNode(database, { roles: 'api' })
const taskId = await aManualTask(node)

const RUNS = 120
const ROW_BYTES = 60_000
/** One row alone is longer than a page may be. */
const LONGEST_ROW_BYTES = 1_500_000
/** What an item has beside its output and error, at most. */
const ITEM_BYTES = 2_000
const VERSIONS = 12
const MAX_EVENT_BYTES = 8_000

interface Item {
  readonly id: string
  readonly runId: string
  readonly number: number
  readonly version: number
}

/**
 * Runs of one task, every third failed for good after an attempt of its own. Some text repeats itself and is stored compressed,
 * the rest is not; six runs end in the same instant, so that a page ends between them.
 */
beforeAll(async () => {
  await db.run(sql`
    with made as (
      select n, gen_random_uuid() as run_id, n % 3 = 0 as failed,
             date_trunc('hour', now()) - interval '2 hours' + (n / 6) * interval '1 minute' as at,
             case when n = 30 then repeat('long ', ${LONGEST_ROW_BYTES}::integer / 5)
                  when n % 2 = 0 then repeat('same ', ${ROW_BYTES}::integer / 5)
                  else (select string_agg(md5(random()::text || i || n), '') from generate_series(1, ${ROW_BYTES}::integer / 32) i)
             end as text
      from generate_series(1, ${RUNS}::integer) n
    ), tried as (
      insert into attempt (run_id, task_id, number, outcome, started_at, ended_at, fence, error)
      select run_id, ${taskId}::uuid, 1, 'failed', at - interval '2 seconds', at - interval '1 second', 1, jsonb_build_object('code', 'x', 'message', text)
      from made where failed
    )
    insert into run (run_id, task_id, project_id, scheduled_for, started_at, ended_at, version, ordinal, fence, late_ms, attempt,
                     kind, state, outcome, output, error)
    select run_id, ${taskId}::uuid, ${DEFAULT_PROJECT_ID}::uuid, at - interval '3 seconds', at - interval '1 second', at, 1, n, 2, 0,
           case when failed then 2 else 1 end, 'manual', case when failed then 'permanently_failed' else 'completed' end::run_state,
           case when failed then 'failed' else 'completed' end, case when not failed then jsonb_build_object('body', text) end,
           case when failed then jsonb_build_object('code', 'x', 'message', text) end
    from made`)
})

/** All items of a list, page by page, and how long each page was. */
async function walk(path: string): Promise<{ items: Item[]; pages: { bytes: number; items: number }[] }> {
  const items: Item[] = []
  const pages: { bytes: number; items: number }[] = []
  for (let cursor: string | null = null; ; ) {
    const address = new URL(path, node.url)
    address.searchParams.set('limit', '200')
    if (cursor !== null) address.searchParams.set('cursor', cursor)
    const text = await (await fetch(address)).text()
    const page: { items: Item[]; nextCursor: string | null } = JSON.parse(text)
    items.push(...page.items)
    pages.push({ bytes: Buffer.byteLength(text), items: page.items.length })
    cursor = page.nextCursor
    if (cursor === null) return { items, pages }
  }
}

const ids = (rows: readonly { id: string }[]) => rows.map(({ id }) => id).toSorted()
const everyRun = () => db.run(sql<{ id: string }>`select run_id as id from run`)
const everyFailed = () =>
  db.run(sql<{ id: string }>`select run_id as id from run where state = 'permanently_failed'`)
const everyAttempt = () =>
  db.run(sql<{ id: string }>`
    select run_id || ' ' || attempt as id from run union all select run_id || ' ' || number from attempt`)

describe('each page ends soon after 1 MiB, and the pages hold every row once', () => {
  test.each<[string, () => string, () => Promise<{ id: string }[]>, (item: Item) => string]>([
    ['runs', () => '/v1/runs', everyRun, ({ id }) => id],
    ['runs that failed', () => '/v1/runs?state=permanently_failed', everyFailed, ({ id }) => id],
    ['runs of a task', () => `/v1/tasks/${taskId}/runs`, everyRun, ({ id }) => id],
    [
      'attempts of a task',
      () => `/v1/tasks/${taskId}/attempts`,
      everyAttempt,
      ({ runId, number }) => `${runId} ${number}`,
    ],
    ['dead letters', () => '/v1/dead-letters', everyFailed, ({ id }) => id],
  ])('%s', async (_, path, rows, idOf) => {
    const { items, pages } = await walk(path())

    expect(items.map(idOf).toSorted()).toEqual(ids(await rows()))
    expect(pages.length).toBeGreaterThanOrEqual(3)
    for (const page of pages)
      expect(page.bytes).toBeLessThan(MAX_PAGE_BYTES + LONGEST_ROW_BYTES + page.items * ITEM_BYTES)
    const others = pages.filter(({ bytes }) => bytes < LONGEST_ROW_BYTES)
    expect(others.length).toBeGreaterThanOrEqual(pages.length - 2)
    for (const page of others)
      expect(page.bytes).toBeLessThan(MAX_PAGE_BYTES + ROW_BYTES + page.items * ITEM_BYTES)
  })
})

test('versions with long definitions are listed once each, in pages of limited size', async () => {
  const action = { type: 'webhook', url: 'http://receiver.example' }
  const { body: task } = await node.request('POST', '/v1/tasks', { action, schedule: { type: 'manual' } })
  for (let version = 2; version <= VERSIONS; version++) {
    const body = `${version}`.padEnd(version === 6 ? 250_000 : 200_000, ' long')
    const { status } = await node.request('PATCH', `/v1/tasks/${task.id}`, { action: { ...action, body } })
    expect(status).toBe(200)
  }

  const { items, pages } = await walk(`/v1/tasks/${task.id}/versions`)

  expect(items.map(({ version }) => version)).toEqual(
    Array.from({ length: VERSIONS }, (_, i) => VERSIONS - i),
  )
  expect(pages.length).toBeGreaterThanOrEqual(2)
  for (const { bytes } of pages) expect(bytes).toBeLessThan(MAX_PAGE_BYTES)
})

test('events of long errors are shortened, and a client that reconnects gets each once', async () => {
  const address = `${node.url}/v1/events?after=${new Date(Date.now() - 86_400_000).toISOString()}`
  const seen: { id: string; event: string; data: { data: { run: { id: string } } } }[] = []
  const isEnd = ({ event }: { event: string }) => event.startsWith('belfry.run.')

  const first = await openEvents(address)
  await eventually(async () => first.events.filter(isEnd).length >= RUNS / 2)
  first.close()
  seen.push(...first.events.filter(isEnd).slice(0, RUNS / 2))
  const second = await openEvents(address, { 'last-event-id': seen.at(-1)?.id ?? '' })
  await eventually(async () => second.events.filter(isEnd).length >= RUNS / 2)
  seen.push(...second.events.filter(isEnd))

  expect(seen.map(({ data }) => data.data.run.id).toSorted()).toEqual(ids(await everyRun()))
  for (const { data } of seen) expect(JSON.stringify(data).length).toBeLessThan(MAX_EVENT_BYTES)
})

test('a changes message that cannot hold all runs is marked incomplete', async () => {
  const source = await openEvents(`${node.url}/v1/stream`)
  await source.next('hello')

  await db.run(sql`
    insert into run (run_id, task_id, project_id, scheduled_for, started_at, ended_at, version, ordinal, fence, late_ms, attempt,
                     kind, state, outcome, output)
    select gen_random_uuid(), ${taskId}::uuid, ${DEFAULT_PROJECT_ID}::uuid, now(), now(), now(), 1, 1000 + n, 2, 0, 1, 'manual',
           'completed', 'completed', jsonb_build_object('body', repeat('same ', ${ROW_BYTES}::integer / 5))
    from generate_series(1, 50) n`)

  const { data } = await source.next('changes', ({ runs }) => runs.length > 0)
  expect(data.runs.length).toBeLessThan(50)
  expect(data.isComplete).toBe(false)
})
