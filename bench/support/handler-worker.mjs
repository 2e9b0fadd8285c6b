/** A worker of a user's own with a handler that does nothing: `handler-worker.mjs <server> <concurrency>`. */
import { Worker } from '../../dist/worker.js'

const [server, concurrency] = process.argv.slice(2)
const worker = new Worker({ server, concurrency: Number(concurrency) })
worker.handle('nothing', async () => undefined)
await worker.start()
process.send?.('ready')
process.once('SIGTERM', () => void worker.stop())
