/** Runs that are due at a steady rate, beside very many others that are due in one instant. */
import { setTimeout as delay } from 'node:timers/promises'
import { sql } from '../../src/store/database/sql.ts'
import { startNodes } from './belfry.ts'
import { actionFor } from './belfry-contender.ts'
import { percentileColumns } from './columns.ts'
import { DRAIN_TIMEOUT_MS } from './contender.ts'
import { measure } from './measure.ts'
import { type Percentiles, percentilesOf } from './percentiles.ts'
import { type BenchDatabase, createBelfryDatabase, type Server, vacuum } from './postgres.ts'
import type { Column } from './report.ts'
import { startSink } from './sink.ts'
import { afterFilling, assertAllDone, fill, HOUR_MS, readHistory, readLateness, untilDone } from './tasks.ts'

/**
 * What the runs of the burst share and the other runs do not: their task, their queue or their project. `nothing` is no burst
 * at all; `one-offs` are tasks of the same project and queue as the others, which are ordered by due time alone, without turns.
 */
export const BURSTS = ['nothing', 'task', 'queue', 'project', 'one-offs'] as const
export const ACTIONS = ['sleep', 'http'] as const
/** Whether each node has all roles, or one node schedules and the other nodes are workers. */
export const ROLES = ['all', 'split'] as const

interface Scenario {
  readonly of: (typeof BURSTS)[number]
  readonly action: (typeof ACTIONS)[number]
  readonly roles: (typeof ROLES)[number]
  readonly nodes: number
  readonly burst: number
}

export interface NeighbourRow extends Scenario {
  /** Start − due of the other runs that were due after the burst. */
  readonly late: Percentiles
  readonly burstSeconds: number
  /** CPU time of the database and all nodes, over all runs. */
  readonly cpuUsPerRun: number
  readonly nodeMiB: number
}

export const NEIGHBOUR_COLUMNS: readonly Column<NeighbourRow>[] = [
  { title: 'burst of one', of: (row) => row.of },
  { title: 'action', of: (row) => row.action },
  { title: 'roles', of: (row) => row.roles },
  { title: 'nodes', of: (row) => row.nodes },
  { title: 'others', of: (row) => row.late.count },
  ...percentileColumns<NeighbourRow>('late', (row) => row.late),
  { title: 'burst done s', of: (row) => row.burstSeconds.toFixed(1) },
  { title: 'CPU µs/run', of: (row) => row.cpuUsPerRun },
  { title: 'peak RSS MiB', of: (row) => row.nodeMiB },
]

const RATE = 100
const SECONDS = 15
const WARM_UP_MS = 3_000
/** The burst is due this long after the measurement begins, when the nodes have their shards and compiled code. */
const BURST_AFTER_MS = 1_000

export async function takeNeighbours(scenario: Scenario, server: Server): Promise<NeighbourRow> {
  const database = await createBelfryDatabase(server, 'bench_neighbours')
  const sinks = { burst: await startSink(), others: await startSink() }
  const nodes = await startNodesOf(scenario, database.url)
  const urlOf = (sink: { url: string }) => (scenario.action === 'http' ? sink.url : null)
  const size = scenario.of === 'nothing' ? 0 : scenario.burst
  const later = Date.now() + HOUR_MS
  await fillBurst(nodes[0]?.url ?? '', database, { ...scenario, burst: size, later, url: urlOf(sinks.burst) })
  await vacuum(database.db)
  const count = RATE * (SECONDS + WARM_UP_MS / 1_000)
  const startAt = afterFilling(count + size)
  const measuredFrom = startAt + WARM_UP_MS
  await moveBurst(database, { later, to: measuredFrom + BURST_AFTER_MS })
  await fill(database.url, {
    count,
    dueAt: (i) => Math.floor(startAt + (i * 1_000) / RATE),
    definition: { action: actionFor(urlOf(sinks.others)) },
  })

  const endAt = measuredFrom + SECONDS * 1_000
  await delay(Math.max(0, measuredFrom - Date.now()))
  const end = await measure(await database.subject(nodes.map(({ pid }) => pid)))
  await delay(endAt - Date.now())
  await untilDone(database.db, { dueBefore: endAt + 1, timeoutMs: DRAIN_TIMEOUT_MS })
  const cost = await end()
  assertAllDone(await readHistory(database.db), count + size)
  const burstAt = measuredFrom + BURST_AFTER_MS
  const others = (await readLateness(database.db)).filter(
    (one) => one.dueAt >= burstAt && one.dueAt !== burstAt,
  )
  const row = {
    ...scenario,
    late: percentilesOf(others.map(({ lateMs }) => lateMs)),
    burstSeconds: size === 0 ? 0 : (await lastEnd(database, burstAt)) - burstAt / 1_000,
    cpuUsPerRun: (cost.databaseCpuUs + cost.nodeCpuUs) / (RATE * SECONDS + size),
    nodeMiB: cost.peakMiB,
  }
  await Promise.all([...nodes, ...Object.values(sinks)].map((one) => one.stop()))
  await database.drop()
  return row
}

async function startNodesOf({ roles, nodes }: Scenario, url: string) {
  if (roles === 'all') return startNodes(nodes, url)
  const scheduling = await startNodes(1, url, ['--roles', 'api,scheduler,liveness'])
  return [
    ...scheduling,
    ...(await startNodes(nodes, url, ['--roles', 'worker', '--private-addresses', 'allow'])),
  ]
}

interface Burst extends Scenario {
  readonly later: number
  readonly url: string | null
}

const BULK = 5_000
/** The name of the queue or project that has the burst. */
const BURST = 'burst'

/** Creates the burst an hour ahead, so that no node reads its tasks before all of them exist. */
async function fillBurst(apiUrl: string, { url, db }: BenchDatabase, burst: Burst): Promise<void> {
  const action = actionFor(burst.url)
  const at = new Date(burst.later).toISOString()
  if (burst.of === 'one-offs')
    await fill(url, { count: burst.burst, dueAt: () => burst.later, definition: { action } })
  if (burst.of === 'project') await post(`${apiUrl}/v1/projects`, { name: BURST })
  if (burst.of === 'queue' || burst.of === 'project')
    for (let made = 0; made < burst.burst; made += BULK) {
      const length = Math.min(BULK, burst.burst - made)
      const task = { action, schedule: { type: 'once', at } }
      const tasks = Array(length).fill(burst.of === 'queue' ? { ...task, queue: BURST } : task)
      await post(
        `${apiUrl}/v1/tasks/bulk`,
        { tasks },
        burst.of === 'project' ? { 'belfry-project': BURST } : {},
      )
    }
  if (burst.of !== 'task') return
  const schedule = { type: 'every', interval: '1d', anchor: at }
  await post(`${apiUrl}/v1/tasks`, { action, schedule, startAt: at, maxRuns: 1, overlap: 'allow' })
  // Inserts what that many triggers would create, except that the runs are due later.
  await db.run(sql`
    insert into agenda (run_id, task_id, project_id, wake_at, scheduled_for, serial, lane, version, ordinal, shard, priority, kind)
    select gen_random_uuid(), task_id, project_id, wake_at, scheduled_for, nextval('agenda_serial'), lane, version, 0, shard, priority, 'manual'
    from agenda, generate_series(2, ${burst.burst}::integer)
    where scheduled_for = to_timestamp(${burst.later}::float8 / 1000)`)
}

async function post(url: string, body: unknown, more: Record<string, string> = {}): Promise<void> {
  const headers = { 'content-type': 'application/json', ...more }
  const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })
  if (!response.ok) throw new Error(`${url} answered ${response.status}: ${await response.text()}`)
}

async function moveBurst({ db }: BenchDatabase, { later, to }: { later: number; to: number }): Promise<void> {
  await db.run(sql`
    update agenda set wake_at = due.at, scheduled_for = due.at
    from (select to_timestamp(${to}::float8 / 1000) as at) due
    where scheduled_for = to_timestamp(${later}::float8 / 1000)`)
  await db.run(sql`vacuum analyze agenda`)
}

async function lastEnd({ db }: BenchDatabase, dueAt: number): Promise<number> {
  const [row] = await db.run(sql<{ at: number }>`
    select extract(epoch from max(ended_at))::float8 as at from run
    where scheduled_for = to_timestamp(${dueAt}::float8 / 1000)`)
  return row?.at ?? 0
}
