import { setTimeout as delay } from 'node:timers/promises'
import { sql } from '../src/store/database/sql.ts'
import { startNodes } from './support/belfry.ts'
import { COST, percentileColumns } from './support/columns.ts'
import { benchmark, whole } from './support/command.ts'
import { treeMiB } from './support/cpu.ts'
import { type CostPerRun, measure, perRun } from './support/measure.ts'
import { type Percentiles, percentilesOf } from './support/percentiles.ts'
import { type BenchDatabase, createBelfryDatabase, startPostgres } from './support/postgres.ts'
import type { Report } from './support/report.ts'
import {
  assertAllDone,
  fill,
  type History,
  LOOK_AHEAD_MS,
  readHistory,
  readLateness,
  untilDone,
} from './support/tasks.ts'

interface Options {
  readonly rate: number
  readonly minutes: number
  readonly nodes: number
}

interface Row extends CostPerRun {
  readonly minute: string
  readonly late: Percentiles
  readonly databaseMiB: number
}

/** The period that one batch of tasks covers, and how long before its start the batch is created. */
const CHUNK_MS = 10_000
const AHEAD_MS = LOOK_AHEAD_MS + 2 * CHUNK_MS
const MINUTE_MS = 60_000

await benchmark({
  name: 'soak',
  question:
    'Does a steady load stay on time, hour after hour, also when history goes on in another partition?',
  options: {
    rate: whole(1_200, 'Runs due each second; as many tasks are created each second meanwhile'),
    minutes: whole(30, 'How long it goes on; the partition changes in the middle'),
    nodes: whole(1, 'Nodes'),
  },
  run: async (options, report) => {
    const server = await startPostgres()
    const database = await createBelfryDatabase(server, 'bench_soak')
    const startAt = Date.now() + AHEAD_MS
    await changePartitionAt(database, startAt + (options.minutes * MINUTE_MS) / 2)
    const nodes = await startNodes(options.nodes, database.url)
    const putIn = keepFilling(database, options, startAt)
    const subject = await database.subject(nodes.map(({ pid }) => pid))
    const rows: Row[] = []
    await delay(startAt - Date.now())
    for (let minute = 1; minute <= options.minutes; minute++) {
      const end = await measure(subject)
      await delay(Math.max(0, startAt + minute * MINUTE_MS - Date.now()))
      rows.push({
        minute: String(minute),
        ...perRun(options.rate * 60, await end()),
        late: await latenessOf(database, startAt + (minute - 1) * MINUTE_MS),
        databaseMiB: treeMiB(subject.serverPid),
      })
      report.step(tell(rows.at(-1) as Row))
    }
    await putIn
    const endAt = startAt + options.minutes * MINUTE_MS
    await untilDone(database.db, { dueBefore: endAt + 1, timeoutMs: MINUTE_MS })
    const history = await readHistory(database.db)
    assertAllDone(history, options.rate * options.minutes * 60)
    await Promise.all(nodes.map((node) => node.stop()))
    await tellPartitions(database, history, report)
    show(rows, options, report)
  },
})

/** Today's partition ends at an instant, and another goes on from there, as at midnight. */
async function changePartitionAt({ db }: BenchDatabase, at: number): Promise<void> {
  for (const parent of ['run', 'attempt']) {
    await db.run({
      text: `
        do $$
        declare
          today date := (now() at time zone 'UTC')::date;
          name  text := '${parent}_' || to_char(today, 'YYYYMMDD');
          after text := '${parent}_later_' || to_char(today, 'YYYYMMDD');
          at    timestamptz := least(to_timestamp(${at} / 1000.0), (today + 1)::timestamp at time zone 'UTC' - interval '1 second');
        begin
          execute format('drop table %I', name);
          execute format('create table %I partition of ${parent} for values from (%L) to (%L)', name, today::text || ' 00:00:00+00', at);
          execute format('create table %I partition of ${parent} for values from (%L) to (%L)', after, at, (today + 1)::text || ' 00:00:00+00');
        end $$`,
      values: [],
    })
  }
}

/** Creates tasks a little before they are due, until the end. */
async function keepFilling(
  { url }: BenchDatabase,
  { rate, minutes }: Options,
  startAt: number,
): Promise<void> {
  const chunks = (minutes * MINUTE_MS) / CHUNK_MS
  const count = (rate * CHUNK_MS) / 1_000
  for (let chunk = 0; chunk < chunks; chunk++) {
    const from = startAt + chunk * CHUNK_MS
    await delay(Math.max(0, from - AHEAD_MS - Date.now()))
    await fill(url, { count, dueAt: (i) => Math.floor(from + (i * 1_000) / rate) })
  }
}

async function latenessOf({ db }: BenchDatabase, from: number): Promise<Percentiles> {
  const late = await readLateness(db, { from, to: from + MINUTE_MS })
  return percentilesOf(late.map(({ lateMs }) => lateMs))
}

async function tellPartitions({ db }: BenchDatabase, { runs }: History, report: Report): Promise<void> {
  const parts = await db.run(sql<{ name: string; runs: number }>`
    select tableoid::regclass::text as name, count(*)::integer as runs from run group by 1 order by 1`)
  report.say(`\n${runs} runs, each recorded once: ${parts.map((p) => `${p.runs} in ${p.name}`).join(', ')}`)
}

function tell({ minute, late, cpuUsPerRun }: Row): string {
  return `minute ${minute}: late p50 ${late.p50}, p99 ${late.p99}, max ${late.max} ms, ${Math.round(cpuUsPerRun)} µs a run`
}

function show(rows: readonly Row[], { rate, minutes }: Options, report: Report): void {
  report.table<Row>(
    'rows',
    `${rate} runs/s for ${minutes} minutes`,
    [
      { title: 'minute', of: (row) => row.minute },
      ...COST,
      ...percentileColumns<Row>('late', (row) => row.late),
      { title: 'database MiB', of: (row) => row.databaseMiB },
    ],
    rows,
  )
}
