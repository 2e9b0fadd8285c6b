import { setTimeout as delay } from 'node:timers/promises'
import { startChild } from './child.ts'
import { CONCURRENCY, type Contender } from './contender.ts'
import type { Server } from './postgres.ts'

const POLL_MS = 20

/** The calls alone, made by processes that know nothing of tasks: the bound that any scheduler is measured against. */
export function callsContender(server: Server): Contender {
  return {
    name: 'calls',
    prepare: async ({ runs, nodes, sinkUrl }) => {
      // The database stays empty; its cost is measured as for every other contender.
      const database = await server.create('bench_calls')
      const workers = Array.from({ length: nodes }, () => startChild('peers/calls-worker.mjs'))
      const done = workers.map(() => 0)
      workers.forEach((worker, i) => {
        worker.onProgress((count) => {
          done[i] = count
        })
      })
      const total = () => done.reduce((sum, count) => sum + count, 0)
      const share = (i: number) => Math.floor(((i + 1) * runs) / nodes) - Math.floor((i * runs) / nodes)
      await Promise.all(
        workers.map((worker) => worker.call('prepare', { concurrency: CONCURRENCY, sinkUrl })),
      )
      return {
        subject: await database.subject(workers.map(({ pid }) => pid)),
        begin: async () => {
          await Promise.all(workers.map((worker, i) => worker.call('work', { count: share(i) })))
        },
        untilDone: async () => {
          while (total() < runs) await delay(POLL_MS)
        },
        verify: async () => {},
        close: async () => {
          await Promise.all(workers.map((worker) => worker.stop()))
          await database.drop()
        },
      }
    },
  }
}
