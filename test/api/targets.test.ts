/** Targets as the API shows them: what nodes have reported, what waits, and what is set. */
import { expect, test } from 'vitest'
import { uuidv7 } from '../../src/core/ids.ts'
import type { LineState } from '../../src/core/target/target-state.ts'
import { DEFAULT_PROJECT_ID as projectId } from '../../src/core/values/default-project.ts'
import { sql } from '../../src/store/database/sql.ts'
import { deleteStaleCircuits, writeCircuits } from '../../src/store/targets/target-circuits.ts'
import { deleteStaleTargetReports, writeTargetReports } from '../../src/store/targets/target-reports.ts'
import { createTestDatabase } from '../support/database.ts'
import { createTestApp } from './test-app.ts'

const { db } = await createTestDatabase()
const { send, context } = await createTestApp({ db })

const path = (target: string, act = '') => `/v1/targets/${encodeURIComponent(target)}${act}`
const get = async (target: string) => (await send('GET', path(target))).body

async function aNode(name: string): Promise<string> {
  const id = uuidv7()
  await db.run(sql`
    insert into node (id, name, version, roles, concurrency) values (${id}, ${name}, '0.0.0', '{worker}', 10)`)
  return id
}

const QUIET: LineState = {
  state: 'available',
  underWay: 0,
  limit: 128,
  limitReason: 'default',
  limitSince: null,
  latency: null,
  calls: 0,
  failures: 0,
  circuit: null,
  lastError: null,
}

const report = (nodeId: string, target: string, state: Partial<LineState> = {}, isIdle = false) =>
  db.run(writeTargetReports(nodeId, [{ projectId, target, isIdle, state: { ...QUIET, ...state } }]))

test('the reports of nodes about a target are summed and shown for each node', async () => {
  const [a, b] = [await aNode('a'), await aNode('b')]
  const target = 'https://two-nodes.example'
  const error = { code: 'timed_out', message: 'no answer', at: Date.UTC(2026, 0, 1) }
  await report(a, target, { underWay: 3, calls: 10, latency: { p50: 1, p95: 2, p99: 3 } })
  await report(b, target, {
    underWay: 4,
    state: 'full',
    limit: 4,
    limitReason: 'failures',
    limitSince: Date.UTC(2026, 0, 1),
    calls: 5,
    failures: 2,
    latency: { p50: 10, p95: 20, p99: 30 },
    lastError: error,
  })

  const shown = await get(target)

  expect(shown).toMatchObject({
    target,
    isPattern: false,
    state: 'full',
    underWay: 7,
    limit: {
      current: 132,
      perNode: 128,
      reason: 'failures',
      since: '2026-01-01T00:00:00.000Z',
      pattern: null,
    },
    latency: { p50: 10, p95: 20, p99: 30 },
    calls: 15,
    failures: 2,
    circuit: { state: 'closed', since: null, nextProbeAt: null, error: null },
    lastError: { ...error, at: '2026-01-01T00:00:00.000Z' },
    waiting: 0,
    oldest: null,
  })
  expect(shown.nodes).toMatchObject([
    { nodeId: a, name: 'a', state: 'available', underWay: 3, limit: { current: 128, reason: 'default' } },
    { nodeId: b, name: 'b', state: 'full', underWay: 4, limit: { current: 4, reason: 'failures' } },
  ])
})

test('a report counts while it is renewed, longer for an idle target, and never for a dead node', async () => {
  const [alive, dead] = [await aNode('alive'), await aNode('dead')]
  await report(alive, 'https://stale.example', { underWay: 1 })
  await report(alive, 'https://idle.example', {}, true)
  await report(dead, 'https://dead.example', {}, true)
  await db.run(
    sql`update target_report set at = at - interval '1 minute' where node_id in (${alive}, ${dead})`,
  )
  await db.run(sql`update node set dead_at = now(), reason = 'stopped' where id = ${dead}`)

  const statuses = await Promise.all(
    ['stale', 'idle', 'dead'].map(
      async (name) => (await send('GET', path(`https://${name}.example`))).status,
    ),
  )

  expect(statuses).toEqual([404, 200, 404])
  await db.run(deleteStaleTargetReports())
  const left = await db.run(
    sql<{ target: string }>`select target from target_report where node_id in (${alive}, ${dead})`,
  )
  expect(left).toEqual([{ target: 'https://idle.example' }])
})

test('runs in side lanes are counted as waiting for their target', async () => {
  const target = 'https://waiting.example'
  await db.run(sql`
    insert into lane (id, project_id, queue, strict, base, line) values
      (71, ${projectId}, 'default', false, 1, ${target}), (72, ${projectId}, 'default', false, 1, ${`${target} always`})`)
  await db.run(sql`
    insert into ready (lane, priority, wake_at, run_id)
    select lane, 0, '2026-01-01T00:00:00Z'::timestamptz + lane * interval '1 second', gen_random_uuid() from unnest('{71,71,72}'::bigint[]) lane`)

  expect(await get(target)).toMatchObject({
    target,
    waiting: 3,
    oldest: '2026-01-01T00:01:11.000Z',
    nodes: [],
  })
  const { body } = await send('GET', '/v1/targets?q=WAITING')
  expect(body).toMatchObject({ items: [{ target, waiting: 3 }], nextCursor: null })
})

test('an open circuit is shown with its error and its next probe until its last node closes it', async () => {
  const [a, b] = [await aNode('c1'), await aNode('c2')]
  const target = 'https://broken.example'
  const openedAt = Date.now()
  const until = openedAt + 5_000
  const error = { code: 'connection_refused', message: 'refused', at: openedAt }
  const open = { projectId, target, state: 'open' as const, openedAt, until, error }
  const closed = { ...open, state: 'closed' as const, until: null }
  const events = async (nodeId: string, change: typeof open | typeof closed) =>
    (await db.run(writeCircuits(nodeId, [change]))).map(({ event }) => event)

  expect(await events(a, open)).toEqual(['opened'])
  expect(await events(a, { ...open, until: until + 5_000 })).toEqual([null])
  expect(await events(b, open)).toEqual([null])
  expect(await get(target)).toMatchObject({
    state: 'circuit_open',
    circuit: {
      state: 'open',
      since: new Date(openedAt).toISOString(),
      nextProbeAt: new Date(until + 5_000).toISOString(),
      error: { code: 'connection_refused', message: 'refused' },
    },
  })
  expect((await send('GET', '/v1/targets?state=circuit_open')).body.items).toMatchObject([{ target }])

  expect(await events(a, closed)).toEqual([null])
  expect(await events(b, closed)).toEqual(['closed'])
  expect((await send('GET', path(target))).status).toBe(404)
})

test('a circuit of a dead node does not count and is forgotten', async () => {
  const node = await aNode('gone')
  const target = 'https://orphan.example'
  const openedAt = Date.now()
  await db.run(
    writeCircuits(node, [
      { projectId, target, state: 'open', openedAt, until: openedAt + 60_000, error: null },
    ]),
  )
  expect(await get(target)).toMatchObject({ state: 'circuit_open' })

  await db.run(sql`update node set dead_at = now(), reason = 'lost' where id = ${node}`)

  expect((await send('GET', path(target))).status).toBe(404)
  await db.run(deleteStaleCircuits())
  expect(await db.run(sql`select from target_circuit where node_id = ${node}`)).toEqual([])
  expect(
    await db.run(sql`select number, event from circuit_event where target = ${target} order by number`),
  ).toEqual([
    { number: 1, event: 'opened' },
    { number: 2, event: 'closed' },
  ])
})

test('a limit and a rate can be set, read back, and removed again', async () => {
  let announced = 0
  context.wakeUps.onTargets(() => announced++)
  const target = 'https://limited.example:8443'

  const set = await send('PATCH', path('HTTPS://Limited.example:8443/'), {
    limit: 5,
    rate: '10/s',
    burst: 20,
  })
  expect(set.status).toBe(200)
  expect(set.body).toMatchObject({
    target,
    limit: { current: null, perNode: 5, reason: 'setting', pattern: target },
    rate: { limit: '10/s', burst: 20, pattern: target },
    state: 'available',
  })
  expect(await get(target)).toEqual(set.body)
  expect((await send('PATCH', path(target), { limit: 5 })).body).toEqual(set.body)

  const slower = await send('PATCH', path(target), { rate: '5/m' })
  expect(slower.body).toMatchObject({ limit: { perNode: 5 }, rate: { limit: '5/m', burst: 20 } })

  const free = await send('PATCH', path(target), { limit: null, rate: null })
  expect(free.body).toMatchObject({
    limit: { perNode: 128, reason: 'default' },
    rate: { limit: null, burst: null },
  })
  expect((await send('GET', path(target))).status).toBe(404)
  expect(announced).toBe(4)
})

test('a pause keeps its start and shows its reason until it is resumed', async () => {
  const target = 'smtp://mail.example:25'

  const paused = await send('POST', path(target, '/pause'), { reason: 'maintenance' })
  expect(paused.body).toMatchObject({
    state: 'paused',
    isPaused: true,
    pauseReason: 'maintenance',
    pausedBy: target,
  })
  expect((await send('POST', path(target, '/pause'))).body).toEqual(paused.body)
  expect((await send('GET', '/v1/targets?state=paused')).body.items).toMatchObject([{ target }])

  const resumed = await send('POST', path(target, '/resume'))
  expect(resumed.body).toMatchObject({
    state: 'available',
    isPaused: false,
    pausedAt: null,
    pauseReason: null,
  })
  expect((await send('POST', path(target, '/resume'))).status).toBe(200)
  expect((await send('GET', path(target))).status).toBe(404)
})

test('a pattern applies to all matching targets, and the most specific one wins', async () => {
  const node = await aNode('patterns')
  const target = 'https://api.tenant.example'
  await report(node, target)
  await send('PATCH', path('*.tenant.example'), { limit: 10, rate: '1/s' })
  await send('PATCH', path('api.tenant.example'), { limit: 20 })
  await send('POST', path('*.example', '/pause'))

  expect(await get(target)).toMatchObject({
    limit: { perNode: 20, pattern: 'api.tenant.example' },
    rate: { limit: '1/s', pattern: '*.tenant.example' },
    state: 'paused',
    pausedBy: '*.example',
  })
  expect(await get('*.tenant.example')).toMatchObject({ isPattern: true, limit: { perNode: 10 } })

  const resumed = await send('POST', path(target, '/resume'))
  expect(resumed.body).toMatchObject({ isPaused: true, pausedBy: '*.example' })
  await send('POST', path('*.example', '/resume'))
})

test('targets are listed page by page, by name, each one once, also filtered by state', async () => {
  const node = await aNode('many')
  const names = Array.from({ length: 1_205 }, (_, n) => `https://page-${String(n).padStart(4, '0')}.test`)
  await db.run(
    writeTargetReports(
      node,
      names.map((target, n) => ({
        projectId,
        target,
        isIdle: true,
        state: { ...QUIET, state: n % 2 === 0 ? ('full' as const) : ('available' as const) },
      })),
    ),
  )
  const readAll = async (query: string) => {
    const found: string[] = []
    let cursor: string | null = null
    do {
      const { body } = await send(
        'GET',
        `/v1/targets?limit=200&q=page-${query}${cursor ? `&cursor=${cursor}` : ''}`,
      )
      found.push(...body.items.map((item: { target: string }) => item.target))
      cursor = body.nextCursor
    } while (cursor !== null)
    return found
  }

  expect(await readAll('')).toEqual(names)
  expect(await readAll('&state=full')).toEqual(names.filter((_, n) => n % 2 === 0))
})

test('why names the target that a run waits for, or that the next run would wait for', async () => {
  const target = 'https://awaited.test'
  const { body: task } = await send('POST', '/v1/tasks', {
    action: { type: 'ping', url: `${target}/hook` },
    startAt: new Date(Date.now() + 3_600_000).toISOString(),
  })
  const why = async () => (await send('GET', `/v1/tasks/${task.id}/why`)).body
  await send('POST', path(target, '/pause'), { reason: 'deploy' })

  const before = await why()
  expect(before.code).toBe('not_due')
  expect(before.also[0]).toMatchObject({ code: 'target_paused', facts: { target, reason: 'deploy' } })

  await db.run(sql`
    insert into lane (id, project_id, queue, strict, base, line) values (81, ${projectId}, 'default', false, 1, ${target})`)
  await db.run(
    sql`update agenda set state = 'pending', wake_at = now(), side = 81 where task_id = ${task.id}`,
  )
  expect(await why()).toMatchObject({
    code: 'target_paused',
    facts: { target, runState: 'pending' },
    advice: `To resume the target: belfry target resume ${target}`,
  })

  await send('POST', path(target, '/resume'))
  expect(await why()).toMatchObject({ code: 'target_full', facts: { target, limit: 128 } })
})

test.each([
  ['GET', '/v1/targets?state=open', undefined, '?state'],
  ['GET', '/v1/targets?cursor=nonsense', undefined, '?cursor'],
  ['GET', path('not a target'), undefined, '{target}'],
  ['GET', path('https://x.example/path'), undefined, '{target}'],
  ['PATCH', path('https://bad.example'), {}, ''],
  ['PATCH', path('https://bad.example'), { limit: 0 }, '/limit'],
  ['PATCH', path('https://bad.example'), { limit: 4_097 }, '/limit'],
  ['PATCH', path('https://bad.example'), { rate: 'fast' }, '/rate'],
  ['PATCH', path('https://bad.example'), { burst: 5 }, '/burst'],
  ['PATCH', path('https://bad.example'), { burst: 5, rate: null }, '/burst'],
  ['PATCH', path('https://bad.example'), { concurrency: 5 }, '/concurrency'],
  ['POST', path('https://bad.example', '/pause'), { reason: '' }, '/reason'],
])('%s %s %j is refused and stores nothing', async (method, url, body, pointer) => {
  const answer = await send(method, url, body)

  expect([answer.status, answer.body.errors[0].pointer]).toEqual([422, pointer])
  expect(await db.run(sql`select from target_setting where pattern = 'https://bad.example'`)).toEqual([])
})

test('the number of target settings of a project is limited', async () => {
  await db.run(sql`
    insert into target_setting (project_id, pattern, call_limit) select ${projectId}, 'https://n' || n || '.test', 1
    from generate_series(1, 1000) n on conflict do nothing`)

  const { status, body } = await send('PATCH', path('https://one-more.test'), { limit: 1 })

  expect([status, body.code]).toEqual([409, 'too_many_target_settings'])
  expect((await send('PATCH', path('https://n1.test'), { limit: 2 })).status).toBe(200)
})
