/** A BullMQ worker with its defaults but for the concurrency. */
import { Worker } from 'bullmq'
import { serve } from './channel.mjs'
import { createWork } from './work.mjs'

let worker

serve({
  prepare: async (options) => {
    worker = new Worker('work', createWork(options), {
      connection: { path: options.url, maxRetriesPerRequest: null },
      concurrency: options.concurrency,
      autorun: false,
    })
    worker.on('error', (error) => console.error(error))
    await worker.waitUntilReady()
  },
  work: () => {
    void worker.run()
  },
})
