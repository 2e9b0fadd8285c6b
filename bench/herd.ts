import { setTimeout as delay } from 'node:timers/promises'
import { sql } from '../src/store/database/sql.ts'
import { startNodes } from './support/belfry.ts'
import { actionFor } from './support/belfry-contender.ts'
import { COST, percentileColumns } from './support/columns.ts'
import { benchmark, someOf, whole } from './support/command.ts'
import { DRAIN_TIMEOUT_MS } from './support/contender.ts'
import { type CostPerRun, measure, perRun } from './support/measure.ts'
import { type Percentiles, percentilesOf } from './support/percentiles.ts'
import { checkpoint, createBelfryDatabase, type Server, startPostgres, vacuum } from './support/postgres.ts'
import { type Sink, startSink } from './support/sink.ts'
import {
  afterFilling,
  assertAllDone,
  fill,
  HOUR_MS,
  LOOK_AHEAD_MS,
  makeDue,
  readHistory,
  readLateness,
  untilDone,
} from './support/tasks.ts'

const ACTIONS = ['sleep', 'webhook'] as const

interface Herd {
  readonly runs: number
  readonly nodes: number
  readonly action: (typeof ACTIONS)[number]
}

interface Row extends CostPerRun {
  readonly action: string
  /** Time from the due instant until the last attempt ended; `seconds` also covers writing the results. */
  readonly endedSeconds: number
  readonly late: Percentiles
  /** Requests that the sink received, and the number of different runs among them. */
  readonly received: number | null
  readonly receivedDistinct: number | null
}

await benchmark({
  name: 'herd',
  question: 'How long does it take when very many runs are due in the same instant, and is each done once?',
  options: {
    runs: whole(100_000, 'Runs due in one instant'),
    nodes: whole(1, 'Nodes'),
    action: someOf(ACTIONS, 'What each run does'),
    rounds: whole(1, 'How often'),
  },
  run: async ({ runs, nodes, action: actions, rounds }, report) => {
    const server = await startPostgres()
    const sink = await startSink()
    const rows: Row[] = []
    for (let round = 1; round <= rounds; round++) {
      for (const action of actions) {
        report.step(`round ${round} of ${rounds}: ${action}`)
        rows.push(await take({ runs, nodes, action }, server, sink))
      }
    }
    report.table<Row>(
      'rows',
      `${runs} runs due in one instant, ${nodes} node${nodes === 1 ? '' : 's'}; each was recorded once`,
      [
        { title: 'action', of: (row) => row.action },
        { title: 'all done s', of: (row) => row.seconds.toFixed(2) },
        { title: 'ended s', of: (row) => row.endedSeconds.toFixed(2) },
        ...COST,
        ...percentileColumns<Row>('late', (row) => row.late),
        { title: 'received', of: (row) => row.received },
      ],
      rows,
    )
  },
})

async function take({ runs, nodes: count, action }: Herd, server: Server, sink: Sink): Promise<Row> {
  const database = await createBelfryDatabase(server, 'bench_herd')
  const { url, db } = database
  await sink.reset({ record: true })
  await checkpoint(db)
  const definition = { action: actionFor(action === 'webhook' ? sink.url : null) }
  const later = Date.now() + HOUR_MS
  await fill(url, { count: runs, dueAt: () => later, definition })
  await vacuum(db)
  const nodes = await startNodes(count, url)
  const dueAt = afterFilling(runs)
  await makeDue(db, dueAt)
  if (Date.now() > dueAt - LOOK_AHEAD_MS) throw new Error('Moving the tasks took too long on this machine.')
  const subject = await database.subject(nodes.map(({ pid }) => pid))

  await delay(dueAt - Date.now())
  const end = await measure(subject)
  await untilDone(db, { dueBefore: dueAt + 1, timeoutMs: DRAIN_TIMEOUT_MS })
  const cost = await end()

  assertAllDone(await readHistory(db), runs)
  const [last] = await db.run(sql<{ endedAt: number }>`select max(ended_at) as "endedAt" from run`)
  const late = percentilesOf((await readLateness(db)).map(({ lateMs }) => lateMs))
  const { received, distinct } = await sink.read()
  if (action === 'webhook' && (received !== runs || distinct !== runs))
    throw new Error(`Of ${runs} requests ${received} came, ${distinct} of them different.`)
  await Promise.all(nodes.map((node) => node.stop()))
  await database.drop()
  return {
    action,
    ...perRun(runs, cost),
    endedSeconds: ((last?.endedAt ?? 0) - dueAt) / 1_000,
    late,
    received: action === 'webhook' ? received : null,
    receivedDistinct: action === 'webhook' ? distinct : null,
  }
}
