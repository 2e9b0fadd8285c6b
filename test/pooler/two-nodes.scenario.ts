/** Two nodes share four connections through a PgBouncer that gives each transaction another session. */
import { expect, test } from 'vitest'
import { Client, type Wanted } from '../checker/client.ts'
import { expectSound } from '../checker/expect-sound.ts'
import { Nemesis } from '../checker/nemesis.ts'
import { ask, countEnded, recordChanges, untilEnded } from '../checker/observe.ts'
import { type Sink, startSink } from '../checker/sink.ts'
import { createTestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { leftBehind, type PgBouncer, startPgBouncer } from '../support/pgbouncer.ts'
import { type Belfry, startBelfry } from '../support/process.ts'

const POOL_SIZE = 4
/** A dead node is noticed soon, for scenarios that are not about how soon. */
const QUICK = ['--heartbeat-ms', '300', '--lease-ms', '2000', '--reaper-ms', '300']
/** By then what a fault has held up must have begun. */
const RECOVERY_MS = 20_000

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
  await recordChanges(url)
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
  const sink = await startSink()
  const clients = [new Client(one.url), new Client(other.url)] as const
  /** Tasks that the two nodes are asked for in turn. */
  const make = async (prefix: string, count: number, body: (path: string, i: number) => Wanted['body']) => {
    const wanted = Array.from({ length: count }, (_, i) => {
      const key = `${prefix}/${i}`
      return { key, body: body(key, i) }
    })
    await Promise.all(clients.map((client, n) => client.create(wanted.filter((_, i) => i % 2 === n))))
    return clients.flatMap((client) => client.idsOf(prefix))
  }
  const webhook = (url: string) => ({ type: 'webhook', url })

  const once = await make('once', 60, (path, i) => ({
    action: webhook(sink.url(path)),
    schedule: { type: 'once', at: inMs(1_000 + i * 40) },
  }))
  const recurring = await make('every', 10, (path) => ({
    action: webhook(sink.url(path)),
    schedule: { type: 'every', interval: '500ms' },
    maxRuns: 6,
    overlap: 'allow',
  }))
  const flaky = await make('flaky', 10, (path, i) => ({
    action: webhook(sink.url(path, { fail: i % 3, status: 500 })),
    retry: { limit: 10, initial: '50ms', max: '200ms' },
  }))
  const asleep = await make('asleep', 6, () => ({ action: { type: 'sleep', duration: '1h' } }))
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
  // Each by the node that was not asked to create it.
  await Promise.all(
    clients.map((client, n) =>
      Promise.all((clients[1 - n] as Client).idsOf('asleep').map((id) => client.change('cancel_task', id))),
    ),
  )
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
  const { history } = await expectSound({
    url,
    client: clients,
    sink,
    faults: [],
    isPooled: true,
    mustSee: ['retries'],
  })
  const runsOf = (ids: readonly string[]) => history.filter(({ taskId }) => ids.includes(taskId))
  const states = (ids: readonly string[]) => runsOf(ids).map(({ state }) => state)
  expect(states(once)).toEqual(once.map(() => 'completed'))
  expect(states(recurring)).toEqual(Array.from({ length: 60 }, () => 'completed'))
  expect(states(flaky)).toEqual(flaky.map(() => 'completed'))
  expect(runsOf(flaky).some(({ attempt }) => attempt > 1)).toBe(true)
  expect(states(asleep)).toEqual(asleep.map(() => 'cancelled'))
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
])('a task created on one node soon starts on the other, %s', async (how, more, bound) => {
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

test('the runs of a killed node are taken over by the other', async () => {
  const count = 20
  const sink = await startSink()
  const { url } = await createTestDatabase()
  await recordChanges(url)
  const pooler = await startPgBouncer(url, { poolSize: POOL_SIZE })
  const flags = ['--database-url', pooler.url, '--database-pooling', 'transaction', ...QUICK]
  const victim = await startBelfry(flags)
  const client = new Client(victim.url)
  const make = (prefix: string, action: (path: string) => Wanted['body']['action']) =>
    client.create(
      Array.from({ length: count }, (_, i) => ({
        key: `${prefix}/${i}`,
        body: { action: action(`${prefix}/${i}`) },
      })),
    )
  await make('held', (path) => ({ type: 'webhook', url: sink.url(path, { hold: 1 }) }))
  await eventually(async () => sink.deliveries.length === count)
  const successor = await startBelfry(flags)

  const nemesis = new Nemesis(url)
  const over = nemesis.note('kill', [victim.pid], RECOVERY_MS)
  victim.kill('SIGKILL')
  const killedAt = performance.now()
  await victim.exited
  over()
  client.url = successor.url
  await make('fresh', () => ({ type: 'sleep' as const, duration: '0s' }))
  await eventually(async () => (await countEnded(url, client.idsOf('fresh'))) === count)
  const shardsAfterMs = performance.now() - killedAt
  const held = client.idsOf('held')
  await eventually(async () => (await countEnded(url, held)) === count, { withinMs: 20_000 })

  report('killed node behind a pooler', {
    'new work after': seconds(shardsAfterMs),
    'its runs done after': seconds(performance.now() - killedAt),
  })
  const { history } = await expectSound({
    ...{ url, client, sink, faults: nemesis.faults, isPooled: true },
    mustSee: ['reclaims', 'repetitions', 'takeovers'],
  })
  const rows = history.filter(({ taskId }) => held.includes(taskId))
  expect(rows.map(({ state, attempt, losses }) => ({ state, attempt, losses }))).toEqual(
    held.map(() => ({ state: 'completed', attempt: 2, losses: 1 })),
  )
  expect(await leftBehind(pooler.url)).toEqual([])
})

/** One-off tasks due within four seconds. */
const oneOffs = (sink: Sink, from: number): Wanted[] =>
  Array.from({ length: 300 }, (_, i) => {
    const key = `one-off-${from + i}`
    const url = sink.url(`one-off/${from + i}`, { ms: (i * 13) % 50 })
    const schedule = { type: 'once', at: inMs(100 + ((i * 7919) % 4_000)) }
    return { key, body: { key, action: { type: 'webhook', url }, schedule } }
  })

test.each([
  ['restarted', 'SIGTERM'],
  ['killed', 'SIGKILL'],
] as const)('while the pooler is %s under load no run is lost or repeated', async (how, signal) => {
  const { url, pooler, one, other } = await twoNodes(() => [])
  const sink = await startSink()
  const clients = [new Client(one.url), new Client(other.url)]
  const nemesis = new Nemesis(url)

  const creating = clients.map((client, i) => client.create(oneOffs(sink, i * 300)))
  const cutAt: number[] = []
  for (const reached of [50, 150, 250]) {
    await eventually(async () => sink.deliveries.length > reached, { everyMs: 5, withinMs: 30_000 })
    cutAt.push(performance.now())
    const over = nemesis.note('kill_database', [], RECOVERY_MS)
    await pooler.restart(signal)
    over()
  }
  await Promise.all(creating)
  const ids = clients.flatMap((client) => client.idsOf('one-off'))
  await untilEnded(url, ids, { withinMs: 60_000 })

  const { history, attempts } = await expectSound({
    url,
    client: clients,
    sink,
    faults: nemesis.faults,
    isPooled: true,
  })
  report(`pooler ${how} three times`, {
    accepted: ids.length,
    'asked again': clients.reduce((sum, { unanswered }) => sum + unanswered, 0),
    'delivered twice': sink.deliveries.length - new Set(sink.deliveries.map(({ taskId }) => taskId)).size,
    'taken from a worker': attempts.length,
    'all done after the last': seconds(performance.now() - (cutAt.at(-1) ?? 0)),
  })
  expect(new Set(ids).size).toBe(600)
  expect(history.map(({ state }) => state)).toEqual(ids.map(() => 'completed'))
  expect(await ask(url, 'select count(*)::int as dead from node where dead_at is not null')).toEqual([
    { dead: 0 },
  ])
  expect(await leftBehind(pooler.url)).toEqual([])
  for (const node of [one, other]) {
    node.kill('SIGTERM')
    expect(await node.exited).toMatchObject({ code: 0 })
  }
})

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
     where datname = current_database() and application_name ~ '^belfry($| engine| heartbeat)'`,
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
