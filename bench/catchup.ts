import { setTimeout as delay } from 'node:timers/promises'
import { TASK_DEFAULTS } from '../src/core/task/field-list.ts'
import type { Database } from '../src/store/database/database.ts'
import { sql } from '../src/store/database/sql.ts'
import { startNodes } from './support/belfry.ts'
import { percentileColumns } from './support/columns.ts'
import { benchmark, whole } from './support/command.ts'
import { type Percentiles, percentilesOf } from './support/percentiles.ts'
import { createBelfryDatabase, type Server, startPostgres } from './support/postgres.ts'
import type { Column } from './support/report.ts'
import { afterFilling, fill, readLateness, untilDone } from './support/tasks.ts'

interface Scenario {
  readonly rate: number
  readonly seconds: number
  readonly late: number
  readonly perTask: number
}

interface Row {
  readonly what: string
  /** Of the runs that are on time. */
  readonly late: Percentiles
  /** Late runs that completed during the measurement, and in total. */
  readonly doneMeanwhile: number
  readonly done: number
}

const COLUMNS: readonly Column<Row>[] = [
  { title: 'on time', of: (row) => row.what },
  ...percentileColumns<Row>('late', (row) => row.late),
  { title: 'caught up meanwhile', of: (row) => row.doneMeanwhile },
  { title: 'in the end', of: (row) => row.done },
]

const MINUTE_MS = 60_000
/** A fresh process first compiles its code, which is not to be measured. */
const WARM_UP_MS = 3_000
/** Nodes start so long before the first run on time is due. */
const HEAD_START_MS = 4_000
const DRAINED_WITHIN_MS = 10 * MINUTE_MS

await benchmark({
  name: 'catchup',
  question: 'How late do runs start that are on time, while those that an outage has missed are made up for?',
  options: {
    rate: whole(100, 'Runs on time each second'),
    seconds: whole(30, 'How long they are measured'),
    late: whole(100_000, 'Runs that were missed'),
    perTask: whole(100, 'How many of them belong to one task'),
  },
  run: async (scenario, report) => {
    const server = await startPostgres()
    const rows: Row[] = []
    for (const late of [0, scenario.late]) {
      report.step(late === 0 ? 'nothing was missed' : `${late} were missed`)
      rows.push(await take({ ...scenario, late }, server))
    }
    report.table('rows', 'Lateness in ms of what is on time', COLUMNS, rows)
  },
})

async function take({ rate, seconds, late, perTask }: Scenario, server: Server): Promise<Row> {
  const database = await createBelfryDatabase(server, 'bench_catchup')
  const { db } = database
  const from = Date.now() - (perTask + 5) * MINUTE_MS
  const iso = (ms: number) => new Date(ms).toISOString()
  await fill(database.url, {
    count: late / perTask,
    dueAt: () => from,
    definition: {
      schedule: { type: 'every', interval: '1m', anchor: iso(from) },
      endAt: iso(from + (perTask - 1) * MINUTE_MS),
      overlap: 'allow',
      misfire: { ...TASK_DEFAULTS.misfire, policy: 'run_all', cap: perTask, rate: 1_000 },
    },
  })
  await db.run(sql`update shard set watched_until = to_timestamp(${from - MINUTE_MS}::float8 / 1000)`)
  const runs = rate * (seconds + WARM_UP_MS / 1_000)
  const startAt = afterFilling(runs)
  await fill(database.url, { count: runs, dueAt: (i) => Math.floor(startAt + (i * 1_000) / rate) })

  await delay(startAt - HEAD_START_MS - Date.now())
  const [node] = await startNodes(1, database.url)
  const measuredFrom = startAt + WARM_UP_MS
  await delay(Math.max(0, measuredFrom - Date.now()))
  const before = await caughtUp(db)
  const endAt = measuredFrom + seconds * 1_000
  await delay(Math.max(0, endAt - Date.now()))
  const meanwhile = (await caughtUp(db)) - before
  // Catch-up gives missed runs a new time, which may be later than `endAt`.
  await untilDone(db, { dueBefore: endAt + DRAINED_WITHIN_MS, timeoutMs: DRAINED_WITHIN_MS })

  const done = await caughtUp(db)
  if (done !== late) throw new Error(`${done} of ${late} late runs completed`)
  const began = (await readLateness(db)).filter(({ dueAt }) => dueAt >= measuredFrom)
  if (began.length < rate * seconds)
    throw new Error(`${began.length} of ${rate * seconds} runs on time completed`)
  await node?.stop()
  await database.drop()
  const what = late === 0 ? 'alone' : `beside ${late} late runs`
  return { what, late: percentilesOf(began.map(({ lateMs }) => lateMs)), doneMeanwhile: meanwhile, done }
}

async function caughtUp(db: Database): Promise<number> {
  const [row] = await db.run(
    sql<{
      count: number
    }>`select count(*)::integer as count from run where kind = 'catchup' and state = 'completed'`,
  )
  return row?.count ?? 0
}
