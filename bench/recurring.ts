import { setTimeout as delay } from 'node:timers/promises'
import { sql } from '../src/store/database/sql.ts'
import { startNodes } from './support/belfry.ts'
import { COST, percentileColumns } from './support/columns.ts'
import { benchmark, someOf, whole } from './support/command.ts'
import { DRAIN_TIMEOUT_MS } from './support/contender.ts'
import { type CostPerRun, measure, perRun } from './support/measure.ts'
import { type Percentiles, percentilesOf } from './support/percentiles.ts'
import {
  type BenchDatabase,
  checkpoint,
  createBelfryDatabase,
  startPostgres,
  vacuum,
} from './support/postgres.ts'
import {
  afterFilling,
  assertAllDone,
  fill,
  HOUR_MS,
  makeDue,
  readHistory,
  readLateness,
  untilDone,
  wake,
} from './support/tasks.ts'

const MODES = ['burst', 'steady'] as const
const TIMEZONE = 'Europe/Berlin'

interface Options {
  readonly tasks: number
  readonly seconds: number
  readonly nodes: number
  readonly expressions: number
}

interface Row extends CostPerRun {
  readonly mode: (typeof MODES)[number]
  readonly late: Percentiles | null
  /** Occurrences that were skipped because the one before had not ended. */
  readonly skipped: number
}

/** In the steady stream each task is due three times a minute. */
const PERIOD_SECONDS = 20
const WARM_UP_MS = 5_000

await benchmark({
  name: 'recurring',
  question: 'What does a run of a cron task cost, its next occurrence included?',
  options: {
    tasks: whole(20_000, 'Cron tasks'),
    expressions: whole(60, 'Different expressions among them, when all are due at once'),
    seconds: whole(30, 'How long the steady stream goes on'),
    nodes: whole(1, 'Nodes'),
    rounds: whole(3, 'How often each has its turn'),
    mode: someOf(MODES, 'All due at once, or a part of them each second'),
  },
  run: async ({ mode: modes, rounds, ...options }, report) => {
    const server = await startPostgres()
    const rows: Row[] = []
    for (let round = 1; round <= rounds; round++) {
      for (const mode of modes) {
        const database = await createBelfryDatabase(server, 'bench_recurring')
        rows.push(await (mode === 'burst' ? burst : steady)(database, options))
        await database.drop()
        report.step(
          `round ${round} of ${rounds}: ${mode} ${Math.round(rows.at(-1)?.cpuUsPerRun ?? 0)} µs/run`,
        )
      }
    }
    report.table<Row>(
      'rows',
      `${options.tasks} cron tasks`,
      [
        { title: 'mode', of: (row) => row.mode },
        { title: 'runs', of: (row) => row.runs },
        ...COST,
        ...percentileColumns<Row>('late', (row) => row.late),
        { title: 'skipped', of: (row) => row.skipped },
      ],
      rows,
    )
  },
})

/** Measures tasks that are all due at once and then not again for half a day. */
async function burst(database: BenchDatabase, { tasks, expressions, nodes: count }: Options): Promise<Row> {
  const { url, db } = database
  await checkpoint(db)
  const later = Date.now() + HOUR_MS
  const hour = (new Date().getUTCHours() + 12) % 24
  await fill(url, {
    count: tasks,
    dueAt: () => later,
    definition: (i) => {
      const [second, minute] = [Math.floor((i % expressions) / 60) % 60, i % Math.min(60, expressions)]
      const expression = `${second} ${minute} ${hour} * * *`
      return { schedule: { type: 'cron', expression, timezone: TIMEZONE } }
    },
  })
  await vacuum(db)
  const nodes = await startNodes(count, url)
  const now = Date.now()
  await makeDue(db, now)
  const end = await measure(await database.subject(nodes.map(({ pid }) => pid)))
  await wake(db, now)
  await untilDone(db, { dueBefore: later, timeoutMs: DRAIN_TIMEOUT_MS })
  const cost = await end()
  assertAllDone(await readHistory(db), tasks)
  const [next] = await db.run(sql<{ count: number }>`
    select count(distinct task_id)::integer as count from agenda where state = 'scheduled'`)
  if (next?.count !== tasks) throw new Error(`Of ${tasks} tasks ${next?.count} have a next occurrence.`)
  await Promise.all(nodes.map((node) => node.stop()))
  return { mode: 'burst', ...perRun(tasks, cost), late: null, skipped: 0 }
}

/** The tasks are spread evenly over the seconds, so that as many are due in each. */
async function steady(database: BenchDatabase, { tasks, seconds, nodes: count }: Options): Promise<Row> {
  const { url, db } = database
  const startAt = Math.ceil(afterFilling(tasks) / 1_000) * 1_000
  const startSecond = new Date(startAt).getUTCSeconds()
  await fill(url, {
    count: tasks,
    dueAt: (i) => startAt + (i % PERIOD_SECONDS) * 1_000,
    definition: (i) => {
      const phase = (startSecond + i) % PERIOD_SECONDS
      const list = [phase, phase + PERIOD_SECONDS, phase + 2 * PERIOD_SECONDS].join(',')
      return { schedule: { type: 'cron', expression: `${list} * * * * *`, timezone: TIMEZONE } }
    },
  })
  await vacuum(db)
  const nodes = await startNodes(count, url)
  const subject = await database.subject(nodes.map(({ pid }) => pid))
  const measuredFrom = startAt + WARM_UP_MS
  await delay(measuredFrom - Date.now())
  const before = await readHistory(db)
  const end = await measure(subject)
  await delay(seconds * 1_000)
  const cost = await end()
  const after = await readHistory(db)
  const until = measuredFrom + seconds * 1_000
  const late = (await readLateness(db)).filter(({ dueAt }) => dueAt >= measuredFrom && dueAt < until)
  const skipped = after.runs - after.completed
  await Promise.all(nodes.map((node) => node.stop()))
  return {
    mode: 'steady',
    ...perRun(after.completed - before.completed, cost),
    late: percentilesOf(late.map(({ lateMs }) => lateMs)),
    skipped,
  }
}
