/**
 * Sends heartbeats from a separate thread, so that a busy main thread does not delay them. This is the source text of the
 * thread rather than a file, because programs are bundled: a bundle contains this module but would not contain a file that is
 * only referenced by name. It uses only modules of Node.js, loaded in a way that works in scripts and in modules.
 *
 * After each successful heartbeat, the thread writes the monotonic instant (nanoseconds) at which that heartbeat began to
 * shared memory. The main thread can thus determine how certain its leases are without waiting for a message. Each heartbeat
 * names the runs in progress, as reported by the main thread, so that Belfry knows about them even while a handler blocks the
 * main thread.
 */
export const BEAT_THREAD = /* js */ `'use strict'
const http = process.getBuiltinModule('node:http')
const https = process.getBuiltinModule('node:https')
const { parentPort, workerData } = process.getBuiltinModule('node:worker_threads')

const { servers, ca, token, everyMs, leaseMs, lastBeat, maxRuns } = workerData
const beats = new BigInt64Array(lastBeat)
// A slow answer is as good as a quick one, as long as there is time for several within the lease.
const LONGEST_ANSWER_MS = Math.max(500, everyMs, leaseMs / 5)
const RETRY_MS = Math.min(500, everyMs)
const agents = {
  'http:': new http.Agent({ keepAlive: true }),
  'https:': new https.Agent({ keepAlive: true, ...(ca === undefined ? {} : { ca }) }),
}
const inHand = new Map(workerData.runs.map((run) => [run.runId, run]))
let current = 0

parentPort.on('message', ({ taken, ended }) => {
  if (taken) inHand.set(taken.runId, taken)
  if (ended && inHand.get(ended.runId)?.fence === ended.fence) inHand.delete(ended.runId)
})

/** Names all runs in hand, in as many requests as that takes; answers the status of the first that is not a success. */
async function beat() {
  const runs = [...inHand.values()]
  for (let i = 0; ; i += maxRuns) {
    const status = await send(JSON.stringify({ runs: runs.slice(i, i + maxRuns) }))
    if (status < 200 || status >= 300 || i + maxRuns >= runs.length) return status
  }
}

function send(body) {
  const url = new URL('/v1/worker/heartbeat', servers[current % servers.length])
  const { request } = url.protocol === 'https:' ? https : http
  return new Promise((resolve, reject) => {
    const sent = request(url, {
      method: 'POST',
      agent: agents[url.protocol],
      headers: {
        authorization: 'Bearer ' + token,
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(body),
      },
    })
    const late = setTimeout(() => sent.destroy(new Error('no answer in time')), LONGEST_ANSWER_MS)
    sent.on('response', (answer) => {
      answer.resume()
      answer.on('error', reject)
      answer.on('end', () => {
        clearTimeout(late)
        resolve(answer.statusCode)
      })
    })
    sent.on('error', (error) => {
      clearTimeout(late)
      reject(error)
    })
    sent.end(body)
  })
}

async function main() {
  for (;;) {
    const beganAt = process.hrtime.bigint()
    const status = await beat().catch(() => 0)
    if (status === 401 || status === 410) {
      parentPort.postMessage('gone')
      return
    }
    const isHeard = status >= 200 && status < 300
    if (isHeard) Atomics.store(beats, 0, beganAt)
    else current++
    await new Promise((resolve) => setTimeout(resolve, isHeard ? everyMs : RETRY_MS))
  }
}
main()
`
