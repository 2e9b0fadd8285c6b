/** Puts jobs into graphile-worker and tells how many are left. */
import { Logger, makeWorkerUtils } from 'graphile-worker'
import pg from 'pg'
import { serve } from './channel.mjs'
import { timeBulk, timeCreates } from './latencies.mjs'

const BATCH = 10_000
const job = { identifier: 'work', payload: { hello: 'world' } }

let pgPool
let utils

serve({
  setup: async ({ url, connections }) => {
    pgPool = new pg.Pool({ connectionString: url, max: connections })
    pgPool.on('error', (error) => console.error(error))
    pgPool.on('connect', (client) => client.on('error', (error) => console.error(error)))
    utils = await makeWorkerUtils({ pgPool, logger: new Logger(() => () => {}) })
    await utils.migrate()
  },
  fill: ({ count }) => timeBulk(count, BATCH, addMany),
  left: async () => {
    const { rows } = await pgPool.query('select count(*)::integer as left from graphile_worker.jobs')
    return rows[0].left
  },
  /** Finished jobs are deleted: nothing is kept to count. */
  completed: () => null,
  single: ({ count, connections }) =>
    timeCreates(count, connections, () => utils.addJob(job.identifier, job.payload)),
  bulk: ({ count, batch }) => timeBulk(count, batch, addMany),
})

/** @param {number} count */
function addMany(count) {
  return utils.addJobs(Array.from({ length: count }, () => job))
}
