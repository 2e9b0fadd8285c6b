/**
 * graphile-worker as its documentation sets it up for throughput, jobs fetched into a local queue and completed
 * in batches, or without that. Everything else is default.
 */
import { Logger, run } from 'graphile-worker'
import pg from 'pg'
import { serve } from './channel.mjs'
import { createWork } from './work.mjs'

/** The size is that of the project's own performance test. */
const BATCHING = { localQueue: { size: 500 }, completeJobBatchDelay: 0, failJobBatchDelay: 0 }
/** The default of graphile-worker. */
const CONNECTIONS = 10

let start = async () => {}

serve({
  prepare: async ({ url, concurrency, sinkUrl, isBatching }) => {
    const pgPool = new pg.Pool({ connectionString: url, max: CONNECTIONS })
    pgPool.on('error', (error) => console.error(error))
    pgPool.on('connect', (client) => client.on('error', (error) => console.error(error)))
    await connectAll(pgPool)
    const work = createWork({ concurrency, sinkUrl })
    start = async () => {
      await run({
        pgPool,
        logger: new Logger(() => () => {}),
        noHandleSignals: true,
        parsedCronItems: [],
        taskList: { work },
        preset: {
          worker: {
            concurrentJobs: concurrency,
            ...(isBatching ? BATCHING : {}),
          },
        },
      })
    }
  },
  work: () => start(),
})

/** @param {pg.Pool} pool */
async function connectAll(pool) {
  const clients = await Promise.all(Array.from({ length: CONNECTIONS }, () => pool.connect()))
  for (const client of clients) client.release()
}
