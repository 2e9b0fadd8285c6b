/**
 * Asks a node whether it is well, again and again, in a thread that has nothing else to do; tells the longest when asked: until an
 * answer came, how much of that nobody waited for a processor, and for how long the node's main thread was busy meanwhile.
 * Others may use the processors as well, and what they keep the node from is not its own doing.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { parentPort, workerData } from 'node:worker_threads'

const { url, pid } = workerData
const PAUSE_MS = 20
const NOTHING = { answeredMs: 0, ownMs: 0, busyMs: 0 }

let longest = NOTHING
parentPort?.on('message', () => {
  parentPort?.postMessage(longest)
  longest = NOTHING
})

/** For how long a thread ran, and for how long it was ready to while no processor was free. */
function timesOf(thread) {
  try {
    const [ran, waited] = readFileSync(`/proc/${thread}/schedstat`, 'utf8').split(' ')
    return { ranMs: Number(ran) / 1e6, waitedMs: Number(waited) / 1e6 }
  } catch {
    // It has ended.
    return { ranMs: 0, waitedMs: 0 }
  }
}

function look() {
  const threads = readdirSync(`/proc/${pid}/task`).map((id) => timesOf(`${pid}/task/${id}`))
  const waitedMs = [...threads, timesOf('thread-self')].reduce((sum, { waitedMs }) => sum + waitedMs, 0)
  return { busyMs: timesOf(`${pid}/task/${pid}`).ranMs, waitedMs }
}

for (;;) {
  const before = look()
  const askedAt = performance.now()
  const isWell = await fetch(`${url}/healthz`).then(
    ({ ok }) => ok,
    () => false,
  )
  const answeredMs = isWell ? performance.now() - askedAt : Number.POSITIVE_INFINITY
  const after = look()
  longest = {
    answeredMs: Math.max(longest.answeredMs, answeredMs),
    ownMs: Math.max(longest.ownMs, answeredMs - (after.waitedMs - before.waitedMs)),
    busyMs: Math.max(longest.busyMs, after.busyMs - before.busyMs),
  }
  await new Promise((resolve) => setTimeout(resolve, PAUSE_MS))
}
