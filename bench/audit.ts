import { setTimeout as delay } from 'node:timers/promises'
import type { TaskDefinition } from '../src/core/task/task.ts'
import { sql } from '../src/store/database/sql.ts'
import { startNodes } from './support/belfry.ts'
import { benchmark, whole } from './support/command.ts'
import { measure } from './support/measure.ts'
import { checkpoint, createBelfryDatabase, startPostgres, vacuum } from './support/postgres.ts'
import { DAY_MS, fill } from './support/tasks.ts'

interface Row {
  readonly what: string
  readonly value: string
}

const ROUND_WAIT_MS = 180_000
/** Period of a round over which the rows are lost, one by one. */
const SPREAD_MS = 40_000

await benchmark({
  name: 'audit',
  question: 'What does the audit cost, and how soon is a lost row back, with a million recurring tasks?',
  options: {
    tasks: whole(1_000_000, 'Tasks'),
    nodes: whole(2, 'Nodes'),
    seconds: whole(45, 'How long the cost is measured'),
    lost: whole(40, 'Rows that are lost'),
  },
  run: async ({ tasks, nodes: wanted, seconds, lost }, report) => {
    const server = await startPostgres()
    const database = await createBelfryDatabase(server, 'bench_audit')
    const { url, db } = database
    report.step(`creating ${tasks} recurring tasks`)
    const from = Date.now() + DAY_MS
    await fill(url, { count: tasks, dueAt: (i) => from + ((i * 7_919) % DAY_MS), definition: recurring })
    await vacuum(db)
    await checkpoint(db)
    const nodes = await startNodes(wanted, url)
    const rounds = async () =>
      (
        await db.run(sql<{ endedAt: number | null; tasks: number; ms: number }>`
          select round_ended_at as "endedAt", round_tasks as tasks, round_ms as ms from audit_progress`)
      )[0]
    const untilRound = async () => {
      const before = (await rounds())?.endedAt ?? null
      const deadline = Date.now() + ROUND_WAIT_MS
      for (;;) {
        const now = await rounds()
        if (now && now.endedAt !== before) return now
        if (Date.now() > deadline) throw new Error('no round of the audit has ended')
        await delay(100)
      }
    }
    report.step('two rounds')
    await untilRound()
    const round = await untilRound()
    report.step(`measuring for ${seconds} s`)
    const end = await measure(await database.subject(nodes.map(({ pid }) => pid)))
    await delay(seconds * 1_000)
    const cost = await end()
    report.step(`losing ${lost} rows`)
    const victims = await db.run(
      sql<{ id: string }>`select id from task order by md5(id::text) limit ${lost}`,
    )
    const waits = await Promise.all(
      victims.map(async ({ id }, i) => {
        await delay((i / lost) * SPREAD_MS)
        await db.run(sql`delete from agenda where task_id = ${id}`)
        const lostAt = performance.now()
        while ((await db.run(sql`select 1 from agenda where task_id = ${id}`)).length === 0) await delay(100)
        return (performance.now() - lostAt) / 1_000
      }),
    )
    waits.sort((a, b) => a - b)
    const percent = (us: number) => `${(us / cost.seconds / 10_000).toFixed(2)} % of a core`
    const rows: Row[] = [
      { what: 'tasks of a round', value: String(round.tasks) },
      { what: 'a round takes', value: `${(round.ms / 1_000).toFixed(1)} s` },
      {
        what: `CPU of the database, ${wanted} nodes, everything that is done when nothing is due`,
        value: percent(cost.databaseCpuUs),
      },
      { what: `CPU of the ${wanted} nodes`, value: percent(cost.nodeCpuUs) },
      { what: 'a lost row is back, median', value: `${waits[Math.floor(waits.length / 2)]?.toFixed(1)} s` },
      { what: 'a lost row is back, longest', value: `${waits.at(-1)?.toFixed(1)} s` },
    ]
    report.table<Row>(
      'rows',
      'The audit',
      [
        { title: 'what', of: (row) => row.what },
        { title: 'value', of: (row) => row.value },
      ],
      rows,
    )
    await Promise.all(nodes.map((node) => node.stop()))
    await database.drop()
  },
})

/**
 * Half of the tasks are due every 24 hours from their own start, the other half daily at some minute in a zone with daylight
 * saving.
 */
function recurring(index: number): Partial<TaskDefinition> {
  if (index % 2 === 0) return { schedule: { type: 'every', interval: '1d' } }
  const expression = `${index % 60} ${Math.floor(index / 60) % 24} * * *`
  return { schedule: { type: 'cron', expression, timezone: 'Europe/Berlin' } }
}
