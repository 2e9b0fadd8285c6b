/** What a project reads about its own runs does not depend on how busy other projects are, and costs no more. */
import { beforeAll, expect, test } from 'vitest'
import { ChangeFeed } from '../../src/api/resources/stream/change-feed.ts'
import { uuidv7 } from '../../src/core/ids.ts'
import { sql } from '../../src/store/database/sql.ts'
import { changesSince } from '../../src/store/history/change-feed.ts'
import { NO_ID, runsInWindow } from '../../src/store/history/run-search.ts'
import { silentLogger } from '../../src/telemetry/logger.ts'
import { steadyClock } from '../support/clock.ts'
import { createTestDatabase } from '../support/database.ts'
import { makeHistory } from '../support/history.ts'
import { planOf } from '../support/plan.ts'
import { createTestApp } from './test-app.ts'

const database = await createTestDatabase()
const { db } = database
const { send } = await createTestApp(database)
const ROWS = 100_000
const now = Date.now()

interface Tenant {
  readonly projectId: string
  readonly taskId: string
  readonly get: (path: string) => ReturnType<typeof send>
}

async function aTenant(name: string): Promise<Tenant> {
  const own = { 'belfry-project': name }
  const projectId = (await send('POST', '/v1/projects', { name })).body.id
  const task = { action: { type: 'sleep', duration: '1s' }, schedule: { type: 'manual' } }
  const taskId = (await send('POST', '/v1/tasks', task, own)).body.id
  return { projectId, taskId, get: (path) => send('GET', path, undefined, own) }
}

interface Live {
  readonly state: 'pending' | 'running' | 'retrying'
  readonly count: number
  /** The rows are due between these instants. */
  readonly from: number
  readonly until: number
}

/** Live runs; those that wait for a retry have a failed attempt, which ended between `from` and `until`. */
const makeLive = ({ projectId, taskId }: Tenant, { state, count, from, until }: Live) =>
  db.run(sql`
    with made as (
      insert into agenda (run_id, task_id, project_id, shard, wake_at, scheduled_for, claimed_at, version, ordinal, kind, serial, state, worker_id, attempt)
      select gen_random_uuid(), ${taskId}, ${projectId}, n % 64, case when ${state} = 'retrying' then at + interval '1 hour' else at end, at,
             case when ${state} = 'running' then clock_timestamp() end, 1, 0, 'manual', nextval('agenda_serial'), ${state}::agenda_state,
             case when ${state} = 'running' then ${uuidv7()}::uuid end, 1
      from generate_series(1, ${count}::integer) as n
      cross join lateral (select to_timestamp((${from}::float8 + (${until}::float8 - ${from}::float8) * n / ${count}::integer) / 1000) as at) due
      returning run_id, task_id, state, wake_at - interval '1 hour' as ended_at
    )
    insert into attempt (run_id, task_id, started_at, ended_at, number, fence, outcome)
    select run_id, task_id, ended_at, ended_at, 1, 1, 'failed' from made where state = 'retrying'`)

const busy = await aTenant('busy')
const quiet = await aTenant('quiet')
const empty = await aTenant('empty')
const large = await aTenant('large')

beforeAll(async () => {
  const lately = { from: now - 100_000, until: now }
  await makeHistory(db, { ...lately, ...busy, runs: ROWS, taskIds: [busy.taskId] })
  await makeLive(busy, { ...lately, state: 'pending', count: ROWS })
  await makeLive(busy, { ...lately, state: 'retrying', count: ROWS / 4 })
  const before = { from: now - 3_600_000, until: now - 3_000_000 }
  await makeHistory(db, { ...before, ...quiet, runs: 20, taskIds: [quiet.taskId] })
  await makeLive(large, { from: now + 60_000, until: now + 3_600_000, state: 'pending', count: 12_000 })
  await makeLive(large, { ...before, state: 'retrying', count: 1 })
  await makeLive(quiet, { ...before, state: 'running', count: 3 })
  await makeLive(quiet, { ...before, state: 'retrying', count: 3 })
}, 60_000)

test('the list of an empty project ends at once beside a busy one', async () => {
  for (const state of ['', '?state=completed', '?state=pending', '?state=retrying'])
    expect([state, (await empty.get(`/v1/runs${state}`)).body]).toEqual([
      state,
      { items: [], nextCursor: null },
    ])
})

test('a list has its runs on as many pages as without neighbours', async () => {
  const sizes: number[] = []
  const ids = new Set<string>()
  let cursor: string | null = null
  do {
    const { body } = await quiet.get(`/v1/runs?limit=10${cursor ? `&cursor=${cursor}` : ''}`)
    sizes.push(body.items.length)
    for (const { id, taskId } of body.items) {
      expect(taskId).toBe(quiet.taskId)
      ids.add(id)
    }
    cursor = body.nextCursor
  } while (cursor !== null)

  expect(sizes).toEqual([10, 10, 6])
  expect(ids.size).toBe(26)
  for (const state of ['running', 'retrying'])
    expect((await quiet.get(`/v1/runs?state=${state}`)).body).toMatchObject({
      items: [{ state }, { state }, { state }],
      nextCursor: null,
    })
})

test('a retrying run is found among very many live runs', async () => {
  expect((await large.get('/v1/runs?state=retrying')).body).toMatchObject({
    items: [{ state: 'retrying' }],
    nextCursor: null,
  })
})

test('the live changes of a project are reported beside a busy one', async () => {
  const { projectId } = quiet
  const feed = new ChangeFeed({ db, clock: steadyClock(() => Date.now()), projectId, log: silentLogger() })

  const changes = await feed.since(now - 3_700_000)

  expect(changes).toMatchObject({ isComplete: true })
  const states = changes?.runs.map(({ state }) => state).sort()
  expect(states?.filter((state) => state === 'running' || state === 'retrying')).toEqual([
    ...['retrying', 'retrying', 'retrying'],
    ...['running', 'running', 'running'],
  ])
})

test.each(['before', 'after'])(
  'lists and changes examine few rows of others, %s an analyse',
  async (when) => {
    if (when === 'after') await db.run(sql`analyze`)
    const { projectId } = quiet
    const window = { projectId, historyFromUs: 0, limit: 51, maxExamined: 10_000 }
    const before = { us: now * 1_000, id: NO_ID }
    const since = { projectId, since: now - 10_000, madeSince: now - 300_000, limit: 100, livePerShard: 16 }

    for (const state of [null, 'completed', 'retrying'] as const) {
      const whole = runsInWindow({ ...window, fromUs: null, before, state })
      const plan = await db.snapshot((tx) => planOf(tx, whole))
      expect([state, plan.rows < 200, plan]).toEqual([state, true, plan])
    }
    const ofLarge = {
      ...window,
      projectId: large.projectId,
      fromUs: null,
      before,
      state: 'retrying' as const,
    }
    const retries = await db.snapshot((tx) => planOf(tx, runsInWindow(ofLarge)))
    expect([retries.rows < 200, retries]).toEqual([true, retries])
    // All attempts of the last seconds are read: they do not name their project.
    const plan = await db.snapshot((tx) => planOf(tx, changesSince(since)))
    expect([plan.rows < ROWS / 4, plan]).toEqual([true, plan])
  },
)
