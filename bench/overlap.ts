/**
 * `fireWithOverlap` locks rows, decides about them and applies the decisions in one statement. The alternative is a transaction:
 * one statement locks and returns what the decision depends on, a pure function decides, and another statement applies. This
 * measures the least that the transaction costs in addition: `begin`, a statement that locks the rows, and `commit`, around the
 * statement as it is. Applying alone would not be cheaper, except for one `case`, because it writes to the same tables.
 */

import { type Firing, JUST_RUN } from '../src/store/agenda/fire.ts'
import { fireWithOverlap } from '../src/store/agenda/fire-with-overlap.ts'
import type { DueRow } from '../src/store/agenda/look-ahead.ts'
import { Database } from '../src/store/database/database.ts'
import { list, sql } from '../src/store/database/sql.ts'
import { aNode, ownShards, tasksInAgenda } from '../test/support/agenda.ts'
import { benchmark, whole, wholes } from './support/command.ts'
import { ownCpuUs } from './support/cpu.ts'
import { createBelfryDatabase, startPostgres } from './support/postgres.ts'

const WAYS = ['one statement', 'transaction'] as const
type Way = (typeof WAYS)[number]

interface Cost {
  readonly way: Way
  readonly batch: number
  readonly runs: number
  readonly nodeUs: number
  readonly databaseUs: number
  readonly wallUs: number
}

const QUEUE_ONE = { places: 1, beyond: 'overlap', supersedes: false, deferUntil: null } as const

/** What makes a decision outside SQL safe until the commit. It would also return what the decision depends on. */
const lockRows = (rows: readonly DueRow[]) => sql<{ runId: string }>`
  select run_id as "runId" from agenda where run_id = any(${list(rows, ({ runId }) => runId)}::uuid[]) order by run_id for update`

/** As the engine connects: with plans that are kept for small batches. */
const engineOf = (url: string) =>
  new Database({
    url,
    applicationName: 'belfry bench',
    maxConnections: 1,
    statementTimeoutMs: 60_000,
    favourIndexes: true,
    keepPlans: true,
  })

await benchmark({
  name: 'overlap',
  question: 'Would deciding about overlap outside SQL cost more than the statement that does everything?',
  options: {
    runs: whole(4_000, 'Runs fired in each way, for each batch size and round'),
    batches: wholes([1, 10, 100, 1_000], 'Batch sizes'),
    rounds: whole(5, 'Rounds, in which the ways take turns'),
  },
  run: async ({ runs, batches, rounds }, report) => {
    const server = await startPostgres()
    const { url } = await createBelfryDatabase(server, 'bench_overlap')
    const db = engineOf(url)
    const [backend] = await db.run(sql<{ pid: number }>`select pg_backend_pid() as pid`)
    const nodeId = await aNode(db, ['scheduler', 'worker'])
    const shards = await ownShards(db, nodeId)

    const fire = (rows: readonly DueRow[]) => {
      const firings = rows.map(
        (row): Firing => ({
          row,
          decision: { ...JUST_RUN, exclusive: true, overlap: QUEUE_ONE },
          startNow: true,
        }),
      )
      return db.run(fireWithOverlap({ nodeId, shards, workerId: nodeId, firings }))
    }
    const WORK: Record<Way, (rows: readonly DueRow[]) => Promise<unknown>> = {
      'one statement': fire,
      // By statements of the only connection, because those of `transaction` keep no plans.
      transaction: async (rows) => {
        await db.run(sql`begin`)
        await db.run(lockRows(rows))
        await fire(rows)
        await db.run(sql`commit`)
      },
    }

    const costs: Cost[] = []
    for (let round = 0; round < rounds; round++)
      for (const batch of batches)
        for (const way of WAYS) {
          report.step(`round ${round + 1} of ${rounds}: ${batch} at once, ${way}`)
          const count = Math.max(batch, Math.min(runs, batch * 1_000))
          const rows = await dueRows(count)
          const before = {
            cpu: process.cpuUsage(),
            database: ownCpuUs(backend?.pid ?? 0),
            at: performance.now(),
          }
          for (let i = 0; i < count; i += batch) await WORK[way](rows.slice(i, i + batch))
          const { user, system } = process.cpuUsage(before.cpu)
          costs.push({
            way,
            batch,
            runs: count,
            nodeUs: (user + system) / count,
            databaseUs: (ownCpuUs(backend?.pid ?? 0) - before.database) / count,
            wallUs: ((performance.now() - before.at) * 1_000) / count,
          })
          await db.run(sql`delete from agenda`)
          await db.run(sql`vacuum analyze agenda`)
        }

    const medians = batches.flatMap((batch) =>
      WAYS.map((way) => {
        const some = costs.filter((cost) => cost.batch === batch && cost.way === way)
        const middle = (of: (cost: Cost) => number) =>
          some.map(of).sort((a, b) => a - b)[Math.floor(some.length / 2)] ?? 0
        return {
          way,
          batch,
          nodeUs: middle((c) => c.nodeUs),
          databaseUs: middle((c) => c.databaseUs),
          wallUs: middle((c) => c.wallUs),
        }
      }),
    )
    report.table(
      'costs',
      `Medians of ${rounds} rounds, per run`,
      [
        { title: 'at once', of: ({ batch }) => String(batch) },
        { title: 'way', of: ({ way }) => way },
        { title: 'node CPU µs', of: ({ nodeUs }) => nodeUs },
        { title: 'database CPU µs', of: ({ databaseUs }) => databaseUs },
        { title: 'wall µs', of: ({ wallUs }) => wallUs },
      ],
      medians,
    )
    await db.close()

    async function dueRows(count: number): Promise<DueRow[]> {
      await tasksInAgenda(db, { count, definition: { overlap: 'queue_one' } })
      await db.run(sql`vacuum analyze agenda`)
      return db.run(sql<DueRow>`
        select run_id as "runId", task_id as "taskId", shard, kind, state, wake_at as "wakeAt", scheduled_for as "scheduledFor", version,
               count_of(ordinal_base, ordinal) as ordinal, fence, attempt, losses, lane, priority
        from agenda order by run_id`)
    }
  },
})
