import { setTimeout as delay } from 'node:timers/promises'
import type { TaskDefinition } from '../src/core/task/task.ts'
import { sql } from '../src/store/database/sql.ts'
import { startNodes } from './support/belfry.ts'
import { benchmark, someOf, whole } from './support/command.ts'
import { peakMiB, residentMiB, treeMiB } from './support/cpu.ts'
import { measure } from './support/measure.ts'
import { checkpoint, createBelfryDatabase, type Server, startPostgres, vacuum } from './support/postgres.ts'
import type { Report } from './support/report.ts'
import { DAY_MS, fill } from './support/tasks.ts'

const KINDS = ['none', 'recurring', 'once'] as const
type Kind = (typeof KINDS)[number]

interface Row {
  readonly kind: Kind
  readonly tasks: number
  readonly nodePercent: number
  readonly databasePercent: number
  readonly walBytesPerSecond: number
  readonly nodeMiB: number
  readonly nodePeakMiB: number
  readonly databaseMiB: number
  readonly storedMiB: number
}

/** By then the nodes have finished their first full passes. */
const SETTLE_MS = 10_000

await benchmark({
  name: 'idle',
  question: 'What does a node cost that holds a million tasks of which none is due?',
  options: {
    tasks: whole(1_000_000, 'Tasks'),
    seconds: whole(30, 'How long it is watched'),
    nodes: whole(1, 'Nodes'),
    kinds: someOf(KINDS, 'Which tasks: none at all, recurring ones, one-offs'),
  },
  run: async ({ tasks, seconds, nodes, kinds }, report) => {
    const server = await startPostgres()
    const rows: Row[] = []
    for (const kind of kinds) rows.push(await take(kind, { tasks, seconds, nodes }, server, report))
    report.table<Row>(
      'rows',
      `CPU in percent of one core over ${seconds} s`,
      [
        { title: 'tasks', of: (row) => row.kind },
        { title: 'count', of: (row) => row.tasks },
        { title: 'node %', of: (row) => row.nodePercent.toFixed(2) },
        { title: 'database %', of: (row) => row.databasePercent.toFixed(2) },
        { title: 'WAL B/s', of: (row) => row.walBytesPerSecond },
        { title: 'node RSS MiB', of: (row) => row.nodeMiB },
        { title: 'peak', of: (row) => row.nodePeakMiB },
        { title: 'database MiB', of: (row) => row.databaseMiB },
        { title: 'stored MiB', of: (row) => row.storedMiB },
      ],
      rows,
    )
  },
})

interface Sizes {
  readonly tasks: number
  readonly seconds: number
  readonly nodes: number
}

async function take(kind: Kind, { tasks, seconds, nodes: wanted }: Sizes, server: Server, report: Report) {
  const database = await createBelfryDatabase(server, 'bench_idle')
  const { url, db } = database
  const count = kind === 'none' ? 0 : tasks
  report.step(`${kind}: creating ${count} tasks`)
  const from = Date.now() + DAY_MS
  await fill(url, {
    count,
    dueAt: (i) => from + ((i * 7_919) % DAY_MS),
    definition: kind === 'recurring' ? recurring : {},
  })
  await vacuum(db)
  await checkpoint(db)
  const nodes = await startNodes(wanted, url)
  const pids = nodes.map(({ pid }) => pid)
  const subject = await database.subject(pids)
  await delay(SETTLE_MS)
  report.step(`${kind}: watching for ${seconds} s`)
  const end = await measure(subject)
  await delay(seconds * 1_000)
  const cost = await end()
  const percent = (us: number) => us / cost.seconds / 10_000
  const [size] = await db.run(
    sql<{ bytes: number }>`select pg_database_size(current_database())::float8 as bytes`,
  )
  const row: Row = {
    kind,
    tasks: count,
    nodePercent: percent(cost.nodeCpuUs),
    databasePercent: percent(cost.databaseCpuUs),
    walBytesPerSecond: (cost.walBytes ?? 0) / cost.seconds,
    nodeMiB: Math.max(...pids.map(residentMiB)),
    nodePeakMiB: Math.max(...pids.map(peakMiB)),
    databaseMiB: treeMiB(server.pid),
    storedMiB: (size?.bytes ?? 0) / 1024 ** 2,
  }
  await Promise.all(nodes.map((node) => node.stop()))
  await database.drop()
  return row
}

/** Every day at some minute, some in a zone with summer time; and every so often, from their own start. */
function recurring(index: number): Partial<TaskDefinition> {
  if (index % 2 === 0) return { schedule: { type: 'every', interval: '1d' } }
  const expression = `${index % 60} ${Math.floor(index / 60) % 24} * * *`
  return { schedule: { type: 'cron', expression, timezone: 'Europe/Berlin' } }
}
