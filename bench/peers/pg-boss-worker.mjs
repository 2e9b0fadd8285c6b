/**
 * pg-boss by its documented fetch and complete, a batch at a time: `work` would wait half a second between
 * batches at the least. Two loops, so that one works while the other waits for the database.
 */
import PgBoss from 'pg-boss'
import { serve } from './channel.mjs'
import { createWork } from './work.mjs'

const BATCH = 1_000
const LOOPS = 2
const IDLE_MS = 100

let boss
let work
let concurrency = 0

serve({
  prepare: async (options) => {
    boss = new PgBoss({ connectionString: options.url })
    boss.on('error', (error) => console.error(error))
    await boss.start()
    work = createWork(options)
    concurrency = options.concurrency
  },
  work: () => {
    for (let loop = 0; loop < LOOPS; loop++) void drain(Math.ceil(concurrency / LOOPS))
  },
})

/** @param {number} atOnce */
async function drain(atOnce) {
  for (;;) {
    const jobs = await boss.fetch('work', { batchSize: BATCH })
    if (jobs.length === 0) {
      await new Promise((resolve) => setTimeout(resolve, IDLE_MS))
      continue
    }
    let next = 0
    const perform = async () => {
      while (next < jobs.length) await work(jobs[next++])
    }
    await Promise.all(Array.from({ length: atOnce }, perform))
    await boss.complete(
      'work',
      jobs.map(({ id }) => id),
    )
  }
}
