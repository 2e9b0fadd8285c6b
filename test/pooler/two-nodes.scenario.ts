/** Two nodes share four connections through a PgBouncer that gives each transaction another session. */
import { expect, test } from 'vitest'
import { createTestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import {
  ask,
  Client,
  doubledOccurrences,
  ledgerOf,
  lostRuns,
  untilEnded,
  type Wanted,
} from '../support/load.ts'
import { leftBehind, type PgBouncer, startPgBouncer } from '../support/pgbouncer.ts'
import { type Belfry, startBelfry } from '../support/process.ts'
import { type Hit, startSink } from '../support/sink.ts'
import { startSlowSink } from '../support/slow-sink.ts'

const POOL_SIZE = 4
const EARLY_TOLERANCE_MS = 5
/** A dead node is noticed soon, for scenarios that are not about how soon. */
const QUICK = ['--heartbeat-ms', '300', '--lease-ms', '2000', '--reaper-ms', '300']
const NEVER_MS = 3_600_000

interface Cluster {
  /** The database itself, for looking at what became of things. */
  readonly url: string
  readonly pooler: PgBouncer
  readonly flags: readonly string[]
  readonly one: Belfry
  readonly other: Belfry
}

async function twoNodes(more: (url: string) => readonly string[] = () => QUICK): Promise<Cluster> {
  const { url } = await createTestDatabase()
  const pooler = await startPgBouncer(url, { poolSize: POOL_SIZE })
  const flags = ['--database-url', pooler.url, '--database-pooling', 'transaction', ...more(url)]
  const [one, other] = [await startBelfry(flags), await startBelfry(flags)]
  await eventually(async () => (await ownersOf(url)).length === 2)
  return { url, pooler, flags, one, other }
}

/** Nodes that own shards, as many as there should be once they have shared them out. */
const ownersOf = (url: string) =>
  ask<{ owner: string; shards: number }>(
    url,
    'select owner, count(*)::int as shards from shard where owner is not null group by owner having count(*) = 32',
  )

const inMs = (ms: number) => new Date(Date.now() + ms).toISOString()

function report(title: string, figures: Record<string, number | string>): void {
  const text = Object.entries(figures).map(([name, value]) => `${name} ${value}`)
  process.stdout.write(`  ${title}: ${text.join(', ')}\n`)
}

const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`

test('tasks are created, fire on time, recur, are retried and cancelled', async () => {
  const { url, pooler, one, other } = await twoNodes()
  const sink = await startSink((hit, count) => ({
    status: hit.path === '/flaky' && count % 2 === 1 ? 500 : 200,
  }))
  const create = async (node: Belfry, body: object): Promise<string> => {
    const answer = await node.request('POST', '/v1/tasks', body)
    expect(answer.status).toBe(201)
    return answer.body.id
  }
  const node = (i: number) => (i % 2 === 0 ? one : other)
  const webhook = (path: string) => ({ type: 'webhook', url: `${sink.url}${path}` })
  const many = <T>(count: number, make: (i: number) => Promise<T>) =>
    Promise.all(Array.from({ length: count }, (_, i) => make(i)))

  const once = await many(60, (i) =>
    create(node(i), { action: webhook('/once'), schedule: { type: 'once', at: inMs(1_000 + i * 40) } }),
  )
  const recurring = await many(10, (i) =>
    create(node(i), {
      action: webhook('/every'),
      schedule: { type: 'every', interval: '500ms' },
      maxRuns: 6,
      overlap: 'allow',
    }),
  )
  const flaky = await many(10, (i) =>
    create(node(i), { action: webhook('/flaky'), retry: { limit: 10, initial: '50ms', max: '200ms' } }),
  )
  const asleep = await many(6, (i) => create(node(i), { action: { type: 'sleep', duration: '1h' } }))
  const connections = new Set<number>()
  const watching = { isOn: true }
  const watch = (async () => {
    while (watching.isOn) {
      connections.add(await serverConnections(url))
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
  })()

  await eventually(async () => (await running(url, asleep)) === asleep.length)
  const cancelledAt = performance.now()
  await many(6, (i) => node(i + 1).request('POST', `/v1/tasks/${asleep[i]}/cancel`))
  await untilEnded(url, asleep, { withinMs: 10_000 })
  const cancelMs = performance.now() - cancelledAt
  await untilEnded(url, [...once, ...recurring, ...flaky], { withinMs: 30_000 })
  watching.isOn = false
  await watch

  const lateness = await latenessOf(url, once)
  report('through a pooler', {
    'late p50': `${lateness.p50} ms`,
    'late max': `${lateness.max} ms`,
    'cancelled within': `${Math.round(cancelMs)} ms`,
    'connections to the server': Math.max(...connections),
  })
  const states = async (ids: readonly string[]) => (await ledgerOf(url, ids)).map(({ state }) => state)
  expect(await states(once)).toEqual(once.map(() => 'completed'))
  expect(new Set(await states(recurring))).toEqual(new Set(['completed']))
  expect(await ledgerOf(url, recurring)).toHaveLength(60)
  expect(new Set(await states(flaky))).toEqual(new Set(['completed']))
  expect((await ledgerOf(url, flaky)).some(({ attempt }) => attempt > 1)).toBe(true)
  expect(await states(asleep)).toEqual(asleep.map(() => 'cancelled'))
  expect(earlyAmong(sink.hits)).toEqual([])
  expect(await doubledOccurrences(url)).toEqual([])
  expect(lateness.max).toBeLessThan(5_000)
  expect(Math.max(...connections)).toBeLessThanOrEqual(POOL_SIZE)
  expect(await leftBehind(pooler.url)).toEqual([])
})

test.each([
  ['without wake-ups', () => [], { p50: 500, max: 5_000 }],
  [
    'with wake-ups past the pooler',
    (url: string) => ['--database-direct-url', url],
    { p50: 200, max: 5_000 },
  ],
])('what one node creates the other starts soon, %s', async (how, more, bound) => {
  const { url, one, other } = await twoNodes(more)
  const otherId = await nodeIdOf(url, other)
  const ids: string[] = []
  for (let i = 0; i < 200; i++) {
    const { body } = await one.request('POST', '/v1/tasks', { action: { type: 'sleep', duration: '0s' } })
    ids.push(body.id)
  }
  await untilEnded(url, ids, { withinMs: 10_000 })

  const elsewhere = await latenessOf(url, ids, otherId)
  report(`created on one node, started on the other, ${how}`, {
    runs: elsewhere.count,
    p50: `${elsewhere.p50} ms`,
    p95: `${elsewhere.p95} ms`,
    max: `${elsewhere.max} ms`,
  })
  expect(elsewhere.count).toBeGreaterThan(50)
  expect(elsewhere.p50).toBeLessThan(bound.p50)
  expect(elsewhere.max).toBeLessThan(bound.max)
})

test('a node that is killed loses its runs to the other', async () => {
  const held = 20
  const sink = await startSlowSink((count) => (count <= held ? NEVER_MS : 0))
  const { url } = await createTestDatabase()
  const pooler = await startPgBouncer(url, { poolSize: POOL_SIZE })
  const flags = ['--database-url', pooler.url, '--database-pooling', 'transaction', ...QUICK]
  const victim = await startBelfry(flags)
  const ids = await createMany(victim, held, { type: 'webhook', url: sink.url })
  await eventually(async () => sink.deliveries.length === held)
  const heir = await startBelfry(flags)

  victim.kill('SIGKILL')
  const killedAt = performance.now()
  await victim.exited
  const fresh = await createMany(heir, held, { type: 'sleep', duration: '0s' })
  await eventually(async () => (await ledgerOf(url, fresh)).length === held)
  const shardsAfterMs = performance.now() - killedAt
  await eventually(async () => (await ledgerOf(url, ids)).length === held, { withinMs: 20_000 })

  report('killed node behind a pooler', {
    'new work after': seconds(shardsAfterMs),
    'its runs done after': seconds(performance.now() - killedAt),
  })
  const rows = await ledgerOf(url, ids)
  expect(rows.map(({ state, attempt, losses }) => ({ state, attempt, losses }))).toEqual(
    ids.map(() => ({ state: 'completed', attempt: 2, losses: 1 })),
  )
  expect(await doubledOccurrences(url)).toEqual([])
  expect(await leftBehind(pooler.url)).toEqual([])
})

test.each([
  ['restarted', 'SIGTERM'],
  ['killed', 'SIGKILL'],
] as const)('while the pooler is %s in mid-load nothing is lost or doubled', async (how, signal) => {
  const { url, pooler, one, other } = await twoNodes(() => [])
  const sink = await startSlowSink((count) => (count * 13) % 50)
  const clients = [new Client(one.url), new Client(other.url)]
  const wanted = (from: number): Wanted[] =>
    Array.from({ length: 300 }, (_, i) => ({
      key: `one-off-${from + i}`,
      body: {
        action: { type: 'webhook', url: `${sink.url}/${from + i}` },
        schedule: { type: 'once', at: inMs(100 + ((i * 7919) % 4_000)) },
      },
    }))

  const creating = clients.map((client, i) => client.create(wanted(i * 300)))
  const cutAt: number[] = []
  for (const reached of [50, 150, 250]) {
    await eventually(async () => sink.deliveries.length > reached, { everyMs: 5, withinMs: 30_000 })
    cutAt.push(performance.now())
    await pooler.restart(signal)
  }
  await Promise.all(creating)
  const ids = clients.flatMap(({ accepted }) => accepted.map(({ id }) => id))
  await untilEnded(url, ids, { withinMs: 60_000 })

  const lost = await lostRuns(url)
  const rows = await ledgerOf(url, ids)
  report(`pooler ${how} three times`, {
    accepted: ids.length,
    'asked again': clients.reduce((sum, { unanswered }) => sum + unanswered, 0),
    'delivered twice': sink.deliveries.length - new Set(sink.deliveries.map(({ taskId }) => taskId)).size,
    'taken from a worker': lost.size,
    'all done after the last': seconds(performance.now() - (cutAt.at(-1) ?? 0)),
  })
  expect(new Set(ids).size).toBe(600)
  expect(rows.map(({ state }) => state)).toEqual(ids.map(() => 'completed'))
  expect(await doubledOccurrences(url)).toEqual([])
  for (const [messageId, count] of countBy(sink.deliveries.map((delivery) => delivery.messageId)))
    expect(count, `deliveries of ${messageId}`).toBeLessThanOrEqual(1 + (lost.get(messageId) ?? 0))
  expect(await ask(url, 'select count(*)::int as dead from node where dead_at is not null')).toEqual([
    { dead: 0 },
  ])
  expect(await leftBehind(pooler.url)).toEqual([])
  for (const node of [one, other]) {
    node.kill('SIGTERM')
    expect(await node.exited).toMatchObject({ code: 0 })
  }
})

async function createMany(belfry: Belfry, count: number, action: object): Promise<string[]> {
  const answers = await Promise.all(
    Array.from({ length: count }, () => belfry.request('POST', '/v1/tasks', { action })),
  )
  return answers.map(({ body }) => body.id)
}

async function running(url: string, taskIds: readonly string[]): Promise<number> {
  const [row] = await ask<{ count: number }>(
    url,
    `select count(*)::int as count from agenda where state = 'running' and task_id = any($1)`,
    [taskIds],
  )
  return row?.count ?? 0
}

/** Connections to the database that belong to nodes, whichever part of them used each one last. */
async function serverConnections(url: string): Promise<number> {
  const [row] = await ask<{ count: number }>(
    url,
    `select count(*)::int as count from pg_stat_activity
     where datname = current_database() and application_name in ('belfry', 'belfry engine', 'belfry heartbeat')`,
  )
  return row?.count ?? 0
}

async function nodeIdOf(url: string, { pid }: Belfry): Promise<string> {
  const [row] = await ask<{ id: string }>(url, `select id from node where name like '%/' || $1::text`, [
    String(pid),
  ])
  return row?.id ?? ''
}

interface Lateness {
  readonly count: number
  readonly p50: number
  readonly p95: number
  readonly max: number
}

/** How late runs began, all of them or those of one node. */
async function latenessOf(
  url: string,
  taskIds: readonly string[],
  nodeId: string | null = null,
): Promise<Lateness> {
  const [row] = await ask<Lateness>(
    url,
    `select count(*)::int as count, max(late)::int as max,
            round(percentile_cont(0.5) within group (order by late))::int as p50,
            round(percentile_cont(0.95) within group (order by late))::int as p95
     from (select extract(epoch from started_at - scheduled_for) * 1000 as late from run
           where task_id = any($1) and ($2::uuid is null or worker_id = $2)) as runs`,
    [taskIds, nodeId],
  )
  return row as Lateness
}

function earlyAmong(hits: readonly Hit[]): readonly Hit[] {
  return hits.filter(
    ({ at, headers }) => at < Date.parse(String(headers['belfry-scheduled-for'])) - EARLY_TOLERANCE_MS,
  )
}

function countBy(values: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1)
  return counts
}
