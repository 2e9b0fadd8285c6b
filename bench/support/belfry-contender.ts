import type { Action } from '../../src/core/action.ts'
import { startNodes } from './belfry.ts'
import { type Contender, DRAIN_TIMEOUT_MS } from './contender.ts'
import { checkpoint, createBelfryDatabase, type Server, vacuum } from './postgres.ts'
import { assertAllDone, fill, HOUR_MS, makeDue, readHistory, untilDone, wake } from './tasks.ts'

export const actionFor = (sinkUrl: string | null): Action =>
  sinkUrl === null
    ? { type: 'sleep', duration: '0s' }
    : { type: 'webhook', url: `${sinkUrl}/`, body: { hello: 'world' } }

/** Nodes are up and idle; then all tasks come due at once. */
export function belfryContender(server: Server): Contender {
  return {
    name: 'belfry',
    prepare: async ({ runs, nodes: count, sinkUrl }) => {
      const database = await createBelfryDatabase(server, 'bench_belfry')
      await checkpoint(database.db)
      const dueAt = Date.now() + HOUR_MS
      await fill(database.url, {
        count: runs,
        dueAt: () => dueAt,
        definition: { action: actionFor(sinkUrl) },
      })
      await vacuum(database.db)
      const nodes = await startNodes(count, database.url)
      await makeDue(database.db)
      return {
        subject: await database.subject(nodes.map(({ pid }) => pid)),
        begin: () => wake(database.db),
        untilDone: () => untilDone(database.db, { dueBefore: dueAt, timeoutMs: DRAIN_TIMEOUT_MS }),
        verify: async () => assertAllDone(await readHistory(database.db), runs),
        close: async () => {
          await Promise.all(nodes.map((node) => node.stop()))
          await database.drop()
        },
      }
    },
  }
}
