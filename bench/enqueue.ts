import { startNodes } from './support/belfry.ts'
import { startChild } from './support/child.ts'
import { benchmark, someOf, whole } from './support/command.ts'
import { INTAKES, type IntakeName } from './support/contender.ts'
import { ownCpuUs } from './support/cpu.ts'
import { measure, type Subject } from './support/measure.ts'
import { createPeerStore } from './support/peer-contender.ts'
import { median, percentilesOf } from './support/percentiles.ts'
import { createBelfryDatabase, type Server, startPostgres } from './support/postgres.ts'
import { requireRedis } from './support/redis.ts'
import type { Column } from './support/report.ts'

/** A service that accepts tasks: where the client finds it, and what its work costs. */
interface Intake {
  readonly url: string
  subject: Subject
  close(): Promise<void>
}

interface Row {
  readonly contender: IntakeName
  readonly singleP50Ms: number
  readonly singleP99Ms: number
  readonly singlePerSecond: number
  readonly concurrentPerSecond: number
  readonly concurrentP99Ms: number
  readonly bulkPerSecond: number
  /** CPU time for one task created in bulk: of the database, of the service, of the client. */
  readonly bulkDatabaseUs: number
  readonly bulkNodeUs: number | null
  readonly bulkClientUs: number
}

interface Timing {
  readonly latenciesMs: readonly number[]
  readonly seconds: number
}

const COLUMNS: readonly Column<Row>[] = [
  { title: 'contender', of: (row) => row.contender },
  { title: 'p50 ms', of: (row) => row.singleP50Ms.toFixed(2) },
  { title: 'p99 ms', of: (row) => row.singleP99Ms.toFixed(2) },
  { title: 'singles/s', of: (row) => row.singlePerSecond },
  { title: 'at once/s', of: (row) => row.concurrentPerSecond },
  { title: 'p99 ms', of: (row) => row.concurrentP99Ms.toFixed(2) },
  { title: 'bulk/s', of: (row) => row.bulkPerSecond },
  { title: 'database µs', of: (row) => row.bulkDatabaseUs },
  { title: 'node µs', of: (row) => row.bulkNodeUs },
  { title: 'client µs', of: (row) => row.bulkClientUs },
]

const WARM_UP = 200

await benchmark({
  name: 'enqueue',
  question: 'How long does creating one durable task take, and how many can be created in a second?',
  options: {
    singles: whole(3_000, 'Tasks created one after the other, and as many again at once'),
    connections: whole(16, 'Clients that create at once'),
    bulk: whole(50_000, 'Tasks created in bulk'),
    batch: whole(1_000, 'Tasks in one bulk call'),
    rounds: whole(3, 'How often each contender has its turn'),
    only: someOf(INTAKES, 'Who takes part'),
  },
  run: async ({ rounds, only, ...sizes }, report) => {
    if (only.includes('bullmq')) requireRedis()
    const server = await startPostgres()
    report.say('Belfry takes tasks over HTTP, its peers are called as libraries inside the client.')
    const rows: Row[] = []
    for (let round = 1; round <= rounds; round++) {
      for (const contender of only) {
        rows.push(await take(contender, server, sizes))
        report.step(`round ${round} of ${rounds}: ${contender}`)
      }
    }
    report.table('rounds', 'Every round', COLUMNS, rows)
    const medians = only.map((name) => medianOf(rows.filter(({ contender }) => contender === name)))
    report.table('summary', 'Median of the rounds', COLUMNS, medians)
  },
})

interface Sizes {
  readonly singles: number
  readonly connections: number
  readonly bulk: number
  readonly batch: number
}

async function take(contender: IntakeName, server: Server, sizes: Sizes): Promise<Row> {
  const { singles, connections, bulk, batch } = sizes
  const intake = await open(contender, server)
  const client = startChild(`peers/${contender}-producer.mjs`)
  await client.call('setup', { url: intake.url, connections })
  await client.call('single', { count: WARM_UP, connections })
  const one = await client.call<Timing>('single', { count: singles, connections: 1 })
  const many = await client.call<Timing>('single', { count: singles, connections })
  const end = await measure(intake.subject)
  const clientBefore = ownCpuUs(client.pid)
  const { seconds } = await client.call<{ seconds: number }>('bulk', { count: bulk, batch })
  const cost = await end()
  const clientUs = ownCpuUs(client.pid) - clientBefore
  await client.stop()
  await intake.close()
  const latency = percentilesOf(one.latenciesMs)
  return {
    contender,
    singleP50Ms: latency.p50 ?? 0,
    singleP99Ms: latency.p99 ?? 0,
    singlePerSecond: singles / one.seconds,
    concurrentPerSecond: singles / many.seconds,
    concurrentP99Ms: percentilesOf(many.latenciesMs).p99 ?? 0,
    bulkPerSecond: bulk / seconds,
    bulkDatabaseUs: cost.databaseCpuUs / bulk,
    bulkNodeUs: contender === 'belfry' ? cost.nodeCpuUs / bulk : null,
    bulkClientUs: clientUs / bulk,
  }
}

async function open(contender: IntakeName, server: Server): Promise<Intake> {
  if (contender !== 'belfry') {
    const store = await createPeerStore(contender, server)
    return { url: store.url, subject: await store.subject([]), close: store.drop }
  }
  const database = await createBelfryDatabase(server, 'bench_belfry')
  const [node] = await startNodes(1, database.url)
  if (!node) throw new Error('There is no node.')
  return {
    url: node.url,
    subject: await database.subject([node.pid]),
    close: async () => {
      await node.stop()
      await database.drop()
    },
  }
}

function medianOf(rows: readonly Row[]): Row {
  const [first] = rows
  if (!first) throw new Error('There was no round.')
  const keys = Object.keys(first).filter((key) => key !== 'contender') as Exclude<keyof Row, 'contender'>[]
  const medians = keys.map((key) => [
    key,
    first[key] === null ? null : median(rows.map((row) => row[key] ?? 0)),
  ])
  return { ...first, ...Object.fromEntries(medians) }
}
