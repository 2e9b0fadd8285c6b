/**
 * Sends the heartbeats of a node from a separate thread: a task that keeps the main thread busy for a while must not cost the
 * other runs of its worker their leases. Plain JavaScript, because threads load files as they are.
 *
 * Writes the monotonic instant (nanoseconds) at which the last successful heartbeat began to shared memory, so that the main
 * thread can determine how safe its leases are without waiting for a message.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { parentPort, workerData } from 'node:worker_threads'
import pg from 'pg'

const { url, statement, everyMs, leaseMs, lastBeat } = workerData
const beats = new BigInt64Array(lastBeat)
/** A slow answer is as good as a quick one, as long as there is time for several within the lease. */
const LONGEST_ANSWER_MS = Math.max(500, everyMs, leaseMs / 5)
const RETRY_MS = Math.min(500, everyMs)

let client
let stopped = false
parentPort.once('message', () => {
  stopped = true
  client?.end().catch(() => {})
  parentPort.close()
})

while (!stopped) {
  const beganAt = process.hrtime.bigint()
  let pauseMs = everyMs
  try {
    const { rowCount } = await (await connected()).query(statement.text, statement.values)
    if (rowCount === 0) {
      parentPort.postMessage({ kind: 'declared_dead' })
      break
    }
    Atomics.store(beats, 0, beganAt)
    parentPort.postMessage({ kind: 'beat' })
  } catch (error) {
    if (!stopped) parentPort.postMessage({ kind: 'failed', message: error.message || error.code })
    await disconnect()
    pauseMs = RETRY_MS
  }
  if (!stopped) await sleep(pauseMs, undefined, { ref: false })
}
await disconnect()

async function connected() {
  if (client) return client
  const fresh = new pg.Client({
    connectionString: url,
    application_name: 'belfry heartbeat',
    connectionTimeoutMillis: LONGEST_ANSWER_MS,
    query_timeout: LONGEST_ANSWER_MS,
    keepAlive: true,
  })
  fresh.on('error', () => {})
  await fresh.connect()
  client = fresh
  return client
}

async function disconnect() {
  const broken = client
  client = undefined
  await broken?.end().catch(() => {})
}
