/** An example worker: `node examples/worker.mjs`, while Belfry runs. Ctrl-C stops it gracefully. */
import { NonRetryable, Worker } from 'belfry/worker'

const worker = new Worker({ server: process.env.BELFRY_URL ?? 'http://127.0.0.1:3369', concurrency: 5 })

worker.handle('greet', async (payload, ctx) => {
  if (!payload?.name) throw new NonRetryable('greet needs a payload such as {"name": "Ada"}')
  ctx.log(`greeting ${payload.name}, attempt ${ctx.attempt}`)
  ctx.signal.throwIfAborted()
  return `Hello, ${payload.name}!`
})

await worker.run()
