/**
 * Shows Belfry that a worker lives, from a thread that does nothing else. Plain JavaScript, because threads load files
 * as they are. It writes the monotonic instant (nanoseconds) at which the last beat that was answered began into
 * shared memory: the main thread can tell how sure it may be of its runs without waiting for a message.
 */
import http from 'node:http'
import https from 'node:https'
import { setTimeout as sleep } from 'node:timers/promises'
import { parentPort, workerData } from 'node:worker_threads'

const { servers, token, everyMs, lastBeat } = workerData
const beats = new BigInt64Array(lastBeat)
const LONGEST_ANSWER_MS = Math.max(500, everyMs)
const RETRY_MS = Math.min(500, everyMs)
const agents = {
  'http:': new http.Agent({ keepAlive: true }),
  'https:': new https.Agent({ keepAlive: true }),
}
let current = 0

for (;;) {
  const beganAt = process.hrtime.bigint()
  const status = await beat().catch(() => 0)
  if (status === 401 || status === 410) {
    parentPort.postMessage('gone')
    break
  }
  const isHeard = status >= 200 && status < 300
  if (isHeard) Atomics.store(beats, 0, beganAt)
  else current++
  await sleep(isHeard ? everyMs : RETRY_MS)
}
for (const agent of Object.values(agents)) agent.destroy()

/** @returns {Promise<number>} the status of the answer */
function beat() {
  const url = new URL('/v1/worker/heartbeat', servers[current % servers.length])
  const { request } = url.protocol === 'https:' ? https : http
  return new Promise((resolve, reject) => {
    const sent = request(url, {
      method: 'POST',
      agent: agents[url.protocol],
      headers: { authorization: `Bearer ${token}`, 'content-length': 0 },
      timeout: LONGEST_ANSWER_MS,
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
    sent.end()
  })
}
