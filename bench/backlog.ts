import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { startNodes } from './support/belfry.ts'
import { prepareDrain } from './support/belfry-contender.ts'
import { onCleanup } from './support/cleanup.ts'
import { COST, percentileColumns } from './support/columns.ts'
import { benchmark, flag, whole } from './support/command.ts'
import { type CostPerRun, measure, perRun } from './support/measure.ts'
import { median, type Percentiles, percentilesOf } from './support/percentiles.ts'
import {
  type BenchDatabase,
  createBelfryDatabase,
  type Server,
  startPostgres,
  vacuum,
} from './support/postgres.ts'
import type { Report } from './support/report.ts'
import { afterFilling, DAY_MS, fill, readHistory, readLateness } from './support/tasks.ts'

interface Options {
  readonly runs: number
  readonly future: number
  readonly nodes: number
  readonly rounds: number
  readonly heldTransaction: boolean
  readonly rate: number
  readonly seconds: number
}

const PARTS = 3

await benchmark({
  name: 'backlog',
  question: 'Do runs slow down beside a million tasks that are due later, or beside an open transaction?',
  options: {
    runs: whole(50_000, 'Runs to work off'),
    future: whole(1_000_000, 'Tasks in the agenda that are due later'),
    nodes: whole(1, 'Nodes'),
    rounds: whole(3, 'How often each has its turn'),
    heldTransaction: flag('Ask about the open transaction instead'),
    rate: whole(500, 'Then: runs due each second'),
    seconds: whole(60, 'Then: how long the transaction stays open'),
  },
  run: async (options, report) => {
    const server = await startPostgres()
    await (options.heldTransaction ? holdTransaction : besideFuture)(options, server, report)
  },
})

interface DrainRow extends CostPerRun {
  readonly future: number
}

/** Drains two databases in turn, one of which also holds the tasks of the future. */
async function besideFuture({ runs, future, nodes, rounds }: Options, server: Server, report: Report) {
  const databases = [
    { future: 0, database: await createBelfryDatabase(server, 'bench_empty') },
    { future, database: await createBelfryDatabase(server, 'bench_future') },
  ]
  for (const { future: count, database } of databases) await addFuture(database, count, report)
  const rows: DrainRow[] = []
  for (let round = 1; round <= rounds; round++) {
    for (const { future: count, database } of databases) {
      const drain = await prepareDrain(database, { runs, nodes, sinkUrl: null })
      const end = await measure(drain.subject)
      await drain.begin()
      await drain.untilDone()
      const row = { future: count, ...perRun(runs, await end()) }
      await drain.verify()
      await drain.close()
      rows.push(row)
      report.step(`round ${round} of ${rounds}: beside ${count}: ${Math.round(row.runsPerSecond)} runs/s`)
    }
  }
  report.table<DrainRow>(
    'rows',
    'Every round',
    [{ title: 'due later', of: (row) => row.future }, ...COST],
    rows,
  )
  const rate = (count: number) =>
    median(rows.filter((row) => row.future === count).map((row) => row.runsPerSecond))
  const ratio = rate(future) / rate(0)
  report.results['ratio'] = ratio
  report.say(`\nBeside ${future} future tasks the rate is ${(ratio * 100).toFixed(0)} % of that without.`)
}

async function addFuture(database: BenchDatabase, count: number, report: Report): Promise<void> {
  if (count === 0) return
  report.step(`creating ${count} tasks that are due later`)
  const from = Date.now() + DAY_MS
  const startedAt = performance.now()
  await fill(database.url, { count, dueAt: (i) => from + ((i * 7_919) % (30 * DAY_MS)) })
  report.step(`created in ${((performance.now() - startedAt) / 1000).toFixed(1)} s`)
  await vacuum(database.db)
}

interface SteadyRow extends CostPerRun {
  readonly transaction: 'none' | 'held'
  readonly part: string
  readonly late: Percentiles
}

/** A steady stream twice, without and with a snapshot that keeps dead rows from being removed. */
async function holdTransaction(options: Options, server: Server, report: Report): Promise<void> {
  const rows: SteadyRow[] = []
  for (const transaction of ['none', 'held'] as const) {
    report.step(`transaction: ${transaction}`)
    rows.push(...(await stream(transaction, options, server)))
  }
  report.table<SteadyRow>(
    'rows',
    `${options.rate} runs/s due, ${options.seconds} s in ${PARTS} parts`,
    [
      { title: 'transaction', of: (row) => row.transaction },
      { title: 'part', of: (row) => row.part },
      ...COST,
      ...percentileColumns<SteadyRow>('late', (row) => row.late),
    ],
    rows,
  )
  const rate = (transaction: string) =>
    rows.filter((row) => row.transaction === transaction).at(-1)?.runsPerSecond ?? 0
  const ratio = rate('held') / rate('none')
  report.results['ratio'] = ratio
  report.say(
    `\nIn the last part the rate with the transaction is ${(ratio * 100).toFixed(0)} % of that without.`,
  )
}

async function stream(transaction: 'none' | 'held', options: Options, server: Server): Promise<SteadyRow[]> {
  const { rate, seconds, nodes: count } = options
  const database = await createBelfryDatabase(server, 'bench_stream')
  const nodes = await startNodes(count, database.url)
  const subject = await database.subject(nodes.map(({ pid }) => pid))
  const runs = rate * seconds
  const startAt = afterFilling(runs)
  await fill(database.url, { count: runs, dueAt: (i) => Math.floor(startAt + (i * 1_000) / rate) })
  await vacuum(database.db)
  const release = transaction === 'held' ? await hold(database.url) : async () => {}

  await delay(startAt - Date.now())
  const parts = []
  let before = await readHistory(database.db)
  for (let part = 1; part <= PARTS; part++) {
    const end = await measure(subject)
    await delay(Math.max(0, startAt + (part * seconds * 1_000) / PARTS - Date.now()))
    const cost = await end()
    const after = await readHistory(database.db)
    parts.push({ part: `${part} of ${PARTS}`, cost: perRun(after.runs - before.runs, cost) })
    before = after
  }
  const late = await readLateness(database.db)
  await release()
  await Promise.all(nodes.map((node) => node.stop()))
  await database.drop()
  const partOf = (dueAt: number) => Math.floor(((dueAt - startAt) / (seconds * 1_000)) * PARTS)
  return parts.map(({ part, cost }, i) => ({
    transaction,
    part,
    ...cost,
    late: percentilesOf(late.filter(({ dueAt }) => partOf(dueAt) === i).map(({ lateMs }) => lateMs)),
  }))
}

/** Opens a transaction with a snapshot; the returned function ends it. */
async function hold(url: string): Promise<() => Promise<void>> {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => {})
  await client.connect()
  await client.query('begin isolation level repeatable read')
  await client.query('select count(*) from project')
  return onCleanup(() => client.end())
}
