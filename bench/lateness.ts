import { setTimeout as delay } from 'node:timers/promises'
import { type BelfryNode, startNodes } from './support/belfry.ts'
import { actionFor } from './support/belfry-contender.ts'
import { startChild } from './support/child.ts'
import { percentileColumns } from './support/columns.ts'
import { benchmark, flag, someOf, whole, wholes } from './support/command.ts'
import { type CostPerRun, measure, perRun, type Subject } from './support/measure.ts'
import { type Percentiles, percentilesOf } from './support/percentiles.ts'
import { createBelfryDatabase, type Server, startPostgres } from './support/postgres.ts'
import type { Column } from './support/report.ts'
import { type Sink, startSink } from './support/sink.ts'
import {
  afterFilling,
  assertAllDone,
  fill,
  type Lateness,
  readHistory,
  readLateness,
  untilDone,
} from './support/tasks.ts'

const ACTIONS = ['sleep', 'http'] as const

interface Scenario {
  readonly rate: number
  readonly action: (typeof ACTIONS)[number]
  readonly seconds: number
  /** A fresh process first compiles its code, which is not to be measured. */
  readonly warmUpSeconds: number
  readonly nodes: number
  readonly idleSeconds: number
  readonly duringBulk: boolean
  readonly bulks: number
}

interface Row extends CostPerRun {
  readonly rate: number
  readonly action: string
  /** Start − due, according to history. */
  readonly late: Percentiles
  /** Received − due, according to the sink. */
  readonly received: Percentiles | null
  /** Only the runs that were due while tasks were being created in bulk. */
  readonly lateDuringBulk: Percentiles | null
  readonly receivedDuringBulk: Percentiles | null
  readonly bulkSeconds: number | null
  /** Before anything was due, in percent of a core. */
  readonly idleNodePercent: number
  readonly idleDatabasePercent: number
}

const COLUMNS: readonly Column<Row>[] = [
  { title: 'runs/s', of: (row) => row.rate },
  { title: 'action', of: (row) => row.action },
  ...percentileColumns<Row>('late', (row) => row.late),
  ...percentileColumns<Row>('received', (row) => row.received),
  { title: 'CPU µs/run', of: (row) => row.cpuUsPerRun },
  { title: 'database', of: (row) => row.databaseUsPerRun },
  { title: 'node', of: (row) => row.nodeUsPerRun },
  { title: 'idle node %', of: (row) => row.idleNodePercent },
  { title: 'database %', of: (row) => row.idleDatabasePercent },
]

const BULK_COLUMNS: readonly Column<Row>[] = [
  { title: 'runs/s', of: (row) => row.rate },
  { title: 'action', of: (row) => row.action },
  { title: 'runs', of: (row) => row.lateDuringBulk?.count ?? 0 },
  ...percentileColumns<Row>('late', (row) => row.lateDuringBulk),
  ...percentileColumns<Row>('received', (row) => row.receivedDuringBulk),
  { title: 'bulk s', of: (row) => row.bulkSeconds?.toFixed(2) ?? null },
]

const BULK_SIZE = 10_000
const FIRST_BULK_MS = 2_000

await benchmark({
  name: 'lateness',
  question: 'How late do runs start, in milliseconds, when so many are due each second?',
  options: {
    rate: wholes([100, 1_000], 'Runs due each second'),
    action: someOf(ACTIONS, 'What each run does'),
    seconds: whole(30, 'How long it goes on'),
    warmUpSeconds: whole(45, 'How long it has gone on before: at a low rate V8 compiles for so long'),
    nodes: whole(1, 'Nodes'),
    idleSeconds: whole(5, 'How long the idle nodes are watched before'),
    duringBulk: flag(
      `While it goes on, ${BULK_SIZE} tasks are created by one call of the API, several times`,
    ),
    bulks: whole(3, 'How many times'),
  },
  run: async ({ rate: rates, action: actions, ...rest }, report) => {
    const server = await startPostgres()
    const sink = await startSink()
    const rows: Row[] = []
    for (const rate of rates) {
      for (const action of actions) {
        report.step(`${rate}/s, ${action}`)
        rows.push(await take({ rate, action, ...rest }, server, sink))
      }
    }
    report.table('rows', 'Lateness in ms', COLUMNS, rows)
    if (!rest.duringBulk) return
    report.table('bulk', `Runs due while ${BULK_SIZE} tasks were being created`, BULK_COLUMNS, rows)
  },
})

async function take(scenario: Scenario, server: Server, sink: Sink): Promise<Row> {
  const { rate, action, seconds, warmUpSeconds, nodes: count } = scenario
  const database = await createBelfryDatabase(server, 'bench_lateness')
  const nodes = await startNodes(count, database.url)
  const subject = await database.subject(nodes.map(({ pid }) => pid))
  const idle = await watchIdle(subject, scenario.idleSeconds)

  const runs = rate * (seconds + warmUpSeconds)
  const startAt = afterFilling(runs)
  const definition = { action: actionFor(action === 'http' ? sink.url : null) }
  await sink.reset({ record: true })
  await fill(database.url, {
    count: runs,
    dueAt: (i) => Math.floor(startAt + (i * 1_000) / rate),
    definition,
  })
  const measuredFrom = startAt + warmUpSeconds * 1_000
  const endAt = measuredFrom + seconds * 1_000

  await delay(measuredFrom - Date.now())
  const end = await measure(subject)
  const windows = scenario.duringBulk ? await createInBulk(nodes, scenario, endAt) : []
  await delay(Math.max(0, endAt - Date.now()))
  await untilDone(database.db, { dueBefore: endAt + 1, timeoutMs: 60_000 })
  const cost = await end()

  assertAllDone(await readHistory(database.db), runs)
  const began = (await readLateness(database.db)).filter(({ dueAt }) => dueAt >= measuredFrom)
  const { lateMs, dueAt } = await sink.read()
  const came = lateMs
    .map((late, i): Lateness => ({ dueAt: dueAt[i] ?? 0, lateMs: late }))
    .filter((one) => one.dueAt >= measuredFrom)
  await Promise.all(nodes.map((node) => node.stop()))
  await database.drop()
  const within = (all: readonly Lateness[]) =>
    all.filter((one) => windows.some(({ from, until }) => one.dueAt >= from && one.dueAt <= until))
  const of = (all: readonly Lateness[]) =>
    all.length === 0 ? null : percentilesOf(all.map((one) => one.lateMs))
  return {
    rate,
    action,
    ...perRun(rate * seconds, cost),
    late: percentilesOf(began.map((one) => one.lateMs)),
    received: of(came),
    lateDuringBulk: of(within(began)),
    receivedDuringBulk: of(within(came)),
    bulkSeconds:
      windows.length === 0
        ? null
        : windows.reduce((sum, { from, until }) => sum + (until - from) / 1_000, 0) / windows.length,
    ...idle,
  }
}

async function watchIdle(subject: Subject, seconds: number) {
  await delay(1_000)
  const end = await measure(subject)
  await delay(seconds * 1_000)
  const cost = await end()
  const percent = (us: number) => us / cost.seconds / 10_000
  return {
    idleNodePercent: percent(cost.nodeCpuUs),
    idleDatabasePercent: percent(cost.databaseCpuUs),
  }
}

interface Window {
  readonly from: number
  readonly until: number
}

/** Creates tasks with bulk requests of the maximum size, spread evenly over the remaining time; returns when each one ran. */
async function createInBulk(
  nodes: readonly BelfryNode[],
  { bulks }: Scenario,
  endAt: number,
): Promise<Window[]> {
  const client = startChild('peers/belfry-producer.mjs')
  await client.call('setup', { url: nodes[0]?.url, connections: 1 })
  const firstAt = Date.now() + FIRST_BULK_MS
  const everyMs = (endAt - firstAt) / bulks
  const windows: Window[] = []
  for (let i = 0; i < bulks; i++) {
    await delay(Math.max(0, firstAt + i * everyMs - Date.now()))
    const from = Date.now()
    await client.call('bulk', { count: BULK_SIZE, batch: BULK_SIZE })
    windows.push({ from, until: Date.now() })
  }
  await client.stop()
  return windows
}
