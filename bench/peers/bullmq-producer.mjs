/** Puts jobs into BullMQ and tells how many are left. */
import { Queue } from 'bullmq'
import { serve } from './channel.mjs'
import { timeBulk, timeCreates } from './latencies.mjs'

const BATCH = 2_000
const job = { name: 'work', data: { hello: 'world' } }

let queue

serve({
  setup: async ({ url }) => {
    queue = new Queue('work', { connection: { path: url } })
    queue.on('error', (error) => console.error(error))
    await queue.waitUntilReady()
  },
  fill: ({ count }) => timeBulk(count, BATCH, addMany),
  left: async () => {
    const { wait, active, delayed, prioritized } = await queue.getJobCounts(
      'wait',
      'active',
      'delayed',
      'prioritized',
    )
    return wait + active + delayed + prioritized
  },
  completed: async () => (await queue.getJobCounts('completed')).completed,
  single: ({ count, connections }) => timeCreates(count, connections, () => queue.add(job.name, job.data)),
  bulk: ({ count, batch }) => timeBulk(count, batch, addMany),
})

/** @param {number} count */
function addMany(count) {
  return queue.addBulk(Array.from({ length: count }, () => job))
}
