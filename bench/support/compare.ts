/**
 * Runs the same work on every contender in turn: A B C, A B C, … Other load on the machine then affects all contenders alike,
 * so the ratios are more reliable than the absolute figures.
 */
import { belfryContender } from './belfry-contender.ts'
import { callsContender } from './calls-contender.ts'
import { COST } from './columns.ts'
import type { Contender, ContenderName, Workload } from './contender.ts'
import { type CostPerRun, measure, perRun } from './measure.ts'
import { peerContender } from './peer-contender.ts'
import { median } from './percentiles.ts'
import { type Server, startPostgres } from './postgres.ts'
import { requireRedis } from './redis.ts'
import type { Column, Report } from './report.ts'
import type { Sink } from './sink.ts'

export interface Comparison {
  readonly only: readonly ContenderName[]
  readonly rounds: number
  readonly workload: Workload
  readonly sink: Sink | null
  readonly report: Report
}

interface Row extends CostPerRun {
  readonly contender: ContenderName
  /** Cost of the sink, which no other figure includes. */
  readonly sinkUsPerRun: number | null
}

interface Summary extends Row {
  readonly timesBelfry: number | null
}

export async function compare({ only, rounds, workload, sink, report }: Comparison): Promise<void> {
  if (only.includes('bullmq')) requireRedis()
  const server = await startPostgres()
  report.say(describe(server, workload))
  const contenders = only.map((name) => contenderOf(name, server))
  const rows: Row[] = []
  for (let round = 1; round <= rounds; round++) {
    for (const contender of contenders) {
      const row = await take(contender, workload, sink)
      report.step(`round ${round} of ${rounds}: ${contender.name} ${Math.round(row.runsPerSecond)} runs/s`)
      rows.push(row)
    }
  }
  const sinkColumn: Column<Row> = { title: 'sink', of: (row) => row.sinkUsPerRun }
  const columns: readonly Column<Row>[] = [
    { title: 'contender', of: (row) => row.contender },
    ...COST,
    ...(sink ? [sinkColumn] : []),
  ]
  report.table('rounds', 'Every round', columns, rows)
  report.table(
    'summary',
    'Median of the rounds',
    [
      ...columns,
      { title: 'Belfry is', of: (row: Summary) => row.timesBelfry && `× ${row.timesBelfry.toFixed(2)}` },
    ],
    summarise(only, rows),
  )
}

function contenderOf(name: ContenderName, server: Server): Contender {
  if (name === 'belfry') return belfryContender(server)
  return name === 'calls' ? callsContender(server) : peerContender(name, server)
}

const describe = ({ version }: Server, { runs, nodes, sinkUrl }: Workload) =>
  `${runs} ${sinkUrl === null ? 'runs that do nothing' : 'runs of one POST'}, ${nodes} process${nodes === 1 ? '' : 'es'} each, PostgreSQL ${version}, synchronous_commit on`

async function take(contender: Contender, workload: Workload, sink: Sink | null): Promise<Row> {
  await sink?.reset({ record: false })
  const prepared = await contender.prepare(workload)
  const end = await measure(prepared.subject)
  const sinkBefore = sink?.cpuUs() ?? 0
  await prepared.begin()
  await prepared.untilDone()
  const cost = await end()
  const sinkUsPerRun = sink ? (sink.cpuUs() - sinkBefore) / workload.runs : null
  await prepared.verify()
  const received = (await sink?.read())?.received ?? workload.runs
  if (received !== workload.runs)
    throw new Error(`The sink received ${received} of ${workload.runs} requests.`)
  await prepared.close()
  return { contender: contender.name, ...perRun(workload.runs, cost), sinkUsPerRun }
}

function summarise(only: readonly ContenderName[], rows: readonly Row[]): Summary[] {
  const medians = only.map((contender) => medianOf(rows.filter((row) => row.contender === contender)))
  const belfry = medians.find((row) => row.contender === 'belfry')
  return medians.map((row) => ({
    ...row,
    timesBelfry: belfry && row !== belfry ? belfry.runsPerSecond / row.runsPerSecond : null,
  }))
}

/** Each figure's own median: they need not come from the same round. */
function medianOf(rows: readonly Row[]): Row {
  const [first] = rows
  if (!first) throw new Error('There was no round.')
  const of = (pick: (row: Row) => number) => median(rows.map(pick))
  return {
    contender: first.contender,
    runs: first.runs,
    seconds: of((row) => row.seconds),
    runsPerSecond: of((row) => row.runsPerSecond),
    cpuUsPerRun: of((row) => row.cpuUsPerRun),
    databaseUsPerRun: of((row) => row.databaseUsPerRun),
    nodeUsPerRun: of((row) => row.nodeUsPerRun),
    walBytesPerRun: first.walBytesPerRun === null ? null : of((row) => row.walBytesPerRun ?? 0),
    peakMiB: of((row) => row.peakMiB),
    watchingUsPerRun: of((row) => row.watchingUsPerRun),
    sinkUsPerRun: first.sinkUsPerRun === null ? null : of((row) => row.sinkUsPerRun ?? 0),
  }
}
