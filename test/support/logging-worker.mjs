/**
 * A worker of a user's own that logs, in a process of its own: `count` writes lines one after the other, `flood` as many as it can.
 *
 *   node logging-worker.mjs <server…>
 */
import { setTimeout as pause } from 'node:timers/promises'
import { Worker } from 'belfry/worker'

const worker = new Worker({ server: process.argv.slice(2) })

worker.handle('count', async (/** @type {{ lines: number, everyMs: number }} */ { lines, everyMs }, ctx) => {
  for (let i = 0; i < lines; i++) {
    ctx.log(`line ${i}`)
    await pause(everyMs)
  }
})

worker.handle(
  'flood',
  async (/** @type {{ lines: number, characters: number }} */ { lines, characters }, ctx) => {
    const line = 'x'.repeat(characters)
    const before = process.memoryUsage().rss
    let most = 0
    for (let i = 0; i < lines; i++) {
      ctx.log(line)
      if (i % 10_000 === 0) {
        await new Promise(setImmediate)
        most = Math.max(most, process.memoryUsage().rss - before)
      }
    }
    return { grownBytes: most }
  },
)

await worker.start()
process.stdout.write(`Ready. ${worker.id}\n`)
process.once('SIGTERM', () => void worker.stop())
