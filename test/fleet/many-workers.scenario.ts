/** Two hundred workers of one server: they cost it no database connections, and share the work. */
import { readFileSync } from 'node:fs'
import { expect, onTestFinished, test } from 'vitest'
import { sql } from '../../src/store/database/sql.ts'
import { eventually } from '../support/eventually.ts'
import type { Launched } from '../support/process.ts'
import { aScript, launchWorker, startServer } from './support.ts'

const WORKERS = 200
const PROGRAMS = 400
/** Starting one takes half a second of a processor; so many are started at once. */
const STARTED_AT_ONCE = 8
const MAX_CONNECTIONS = 20
const WATCH_MS = 100

const tell = (text: string) => process.stdout.write(`  ${text}\n`)

test(`${WORKERS} workers with at most ${MAX_CONNECTIONS} database connections`, {
  timeout: 1_200_000,
}, async () => {
  const server = await startServer(['--database-connections', String(MAX_CONNECTIONS)])
  const connections = watchConnections(server.db)
  const startedAt = performance.now()
  const workers: Launched[] = []
  while (workers.length < WORKERS) {
    workers.push(launchWorker(server.url, { args: ['--label', 'many'] }))
    await untilRegistered(server.db, workers.length - STARTED_AT_ONCE)
  }
  await untilRegistered(server.db, WORKERS)
  const startedMs = performance.now() - startedAt
  const file = await aScript(server, ['echo "$BELFRY_RUN_ID"'])
  const tasks = Array.from({ length: PROGRAMS }, () => ({ action: { type: 'exec', file }, labels: ['many'] }))

  const createdAt = performance.now()
  const { status, body } = await server.request('POST', '/v1/tasks/bulk', { tasks })
  expect(status, JSON.stringify(body)).toBe(201)
  const runs = await eventually(
    async () => {
      const ends = await server.db.run(sql<{
        state: string
        attempt: number
        losses: number
        workerId: string
      }>`
        select state, attempt, losses, worker_id as "workerId" from run`)
      return ends.length === PROGRAMS && ends
    },
    { withinMs: 600_000, everyMs: 250 },
  )
  const tookMs = performance.now() - createdAt
  const { most, byName } = await connections.stop()

  const busy = new Set(runs.map(({ workerId }) => workerId))
  tell(`${WORKERS} workers started in ${seconds(startedMs)}, ${Math.round(memoryOf(workers))} MiB each`)
  const again = runs.filter(({ attempt }) => attempt > 1)
  const lost = again.filter(({ losses }) => losses > 0).length
  tell(`${PROGRAMS} programs completed in ${seconds(tookMs)} by ${busy.size} workers`)
  tell(`${again.length} of them not with their first attempt, ${lost} because a worker was thought dead`)
  const failures = await server.db.run(sql<{ code: string; count: number; example: string }>`
    select error ->> 'code' as code, count(*)::integer as count, min(error ->> 'message') as example
    from attempt group by 1 order by 2 desc`)
  for (const { code, count, example } of failures) tell(`  ${count} attempts failed with ${code}: ${example}`)
  tell(`at most ${most} connections: ${byName}`)
  expect(runs.filter(({ state }) => state === 'completed')).toHaveLength(PROGRAMS)
  expect(busy.size).toBeGreaterThan(1)
  expect(most).toBeLessThanOrEqual(MAX_CONNECTIONS)
  await Promise.all(
    workers.map(async (worker) => {
      worker.kill('SIGTERM')
      expect((await worker.exited).code).toBe(0)
    }),
  )
})

type Db = Awaited<ReturnType<typeof startServer>>['db']

/** On two cores that do other things too, this takes minutes. */
const untilRegistered = (db: Db, count: number) =>
  eventually(
    async () => {
      const [found] = await db.run(sql<{ count: number }>`
        select count(*)::integer as count from node where dead_at is null and roles = '{remote}'`)
      return (found?.count ?? 0) >= count
    },
    { withinMs: 600_000, everyMs: 50 },
  )

/** Counts the connections to the database of a server, without those of this test, until it is stopped. */
function watchConnections(db: Db) {
  let [most, byName] = [0, '']
  const look = async () => {
    const rows = await db.run(sql<{ name: string; count: number }>`
      select regexp_replace(application_name, ' [0-9a-f-]{36}$', '') as name, count(*)::integer as count from pg_stat_activity
      where datname = current_database() and backend_type = 'client backend' and application_name <> 'belfry test'
      group by 1 order by 2 desc, 1`)
    const count = rows.reduce((sum, row) => sum + row.count, 0)
    if (count > most) [most, byName] = [count, rows.map((row) => `${row.count} ${row.name}`).join(', ')]
  }
  const watching = setInterval(() => void look().catch(() => {}), WATCH_MS)
  onTestFinished(() => clearInterval(watching))
  return {
    stop: async () => {
      clearInterval(watching)
      await look()
      return { most, byName }
    },
  }
}

/** Memory of a worker on average in MiB, with its part of what several of them share. */
function memoryOf(workers: readonly Launched[]): number {
  const sizes = workers.map(({ pid }) =>
    Number(/^Pss: +(\d+)/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))?.[1] ?? 0),
  )
  return sizes.reduce((sum, size) => sum + size, 0) / sizes.length / 1_024
}

const seconds = (ms: number) => `${(ms / 1_000).toFixed(1)} s`
