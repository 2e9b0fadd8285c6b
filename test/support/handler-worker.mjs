/**
 * A remote worker in a separate process, for scenarios. It provides the handlers `deliver`, which calls a sink as the run that
 * it performs, and `block`, which keeps the process busy. Its messages go to stdout as lines.
 *
 * node handler-worker.mjs <concurrency> <server…>
 */
import { Worker } from 'belfry/worker'

const [concurrency, ...server] = process.argv.slice(2)
const worker = new Worker({ server, concurrency: Number(concurrency) })
const say = (/** @type {string} */ line) => process.stdout.write(`${line}\n`)

worker.handle('deliver', async (/** @type {{ url: string }} */ { url }, ctx) => {
  ctx.signal.addEventListener('abort', () => say(`stopped ${ctx.runId} ${ctx.signal.reason.why}`))
  const answer = await fetch(url, {
    method: 'POST',
    headers: {
      'webhook-id': ctx.runId,
      'belfry-task-id': ctx.taskId,
      'belfry-scheduled-for': ctx.scheduledFor.toISOString(),
      'belfry-fence': String(ctx.fence),
      'belfry-attempt': String(ctx.attempt),
    },
    signal: ctx.signal,
  })
  if (!answer.ok) throw new Error(`the sink answered ${answer.status}`)
  return answer.status
})

worker.handle('block', (/** @type {{ ms: number }} */ { ms }) => {
  const until = performance.now() + ms
  while (performance.now() < until);
  return 'blocked'
})

await worker.start()
say(`Ready. ${worker.id}`)
process.once('SIGTERM', () => void worker.stop())
