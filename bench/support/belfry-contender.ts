import type { Action } from '../../src/core/action/action.ts'
import { startNodes } from './belfry.ts'
import { type Contender, DRAIN_TIMEOUT_MS, type Prepared, type Workload } from './contender.ts'
import { type BenchDatabase, checkpoint, createBelfryDatabase, type Server, vacuum } from './postgres.ts'
import { assertAllDone, fill, HOUR_MS, makeDue, readHistory, untilDone, wake } from './tasks.ts'

export const actionFor = (sinkUrl: string | null): Action =>
  sinkUrl === null
    ? { type: 'sleep', duration: '0s' }
    : { type: 'webhook', url: `${sinkUrl}/`, body: { hello: 'world' } }

export function belfryContender(server: Server): Contender {
  return {
    name: 'belfry',
    prepare: async (workload) => {
      const database = await createBelfryDatabase(server, 'bench_belfry')
      const drain = await prepareDrain(database, workload)
      return {
        ...drain,
        close: async () => {
          await drain.close()
          await database.drop()
        },
      }
    },
  }
}

/** Starts idle nodes beside tasks that are all due; `begin` wakes the nodes. */
export async function prepareDrain(
  database: BenchDatabase,
  { runs, nodes: count, sinkUrl }: Workload,
): Promise<Prepared> {
  const { url, db } = database
  const before = await readHistory(db)
  await checkpoint(db)
  const dueAt = Date.now() + HOUR_MS
  await fill(url, { count: runs, dueAt: () => dueAt, definition: { action: actionFor(sinkUrl) } })
  await vacuum(db)
  const nodes = await startNodes(count, url)
  const now = Date.now()
  await makeDue(db, now)
  return {
    subject: await database.subject(nodes.map(({ pid }) => pid)),
    begin: () => wake(db, now),
    untilDone: () => untilDone(db, { dueBefore: dueAt, timeoutMs: DRAIN_TIMEOUT_MS }),
    verify: async () => assertAllDone(await readHistory(db), before.runs + runs),
    close: async () => {
      await Promise.all(nodes.map((node) => node.stop()))
    },
  }
}
