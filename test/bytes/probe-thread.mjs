/**
 * Asks a node whether it is well, again and again, in a thread that has nothing else to do; tells the longest answer when asked.
 * Time in which the node or this thread waited for a processor is the machine's, which others may use as well, and is told apart.
 */
import { readFileSync } from 'node:fs'
import { parentPort, workerData } from 'node:worker_threads'

const { url, pid } = workerData
const PAUSE_MS = 20

let longest = { answeredMs: 0, ownMs: 0 }
parentPort?.on('message', () => {
  parentPort?.postMessage(longest)
  longest = { answeredMs: 0, ownMs: 0 }
})

/** For how long a thread was ready to run while no processor was free; nothing where the system does not say. */
function waitedMs(thread) {
  try {
    return Number(readFileSync(`/proc/${thread}/schedstat`, 'utf8').split(' ')[1]) / 1e6
  } catch {
    return 0
  }
}

const waitedForProcessors = () => waitedMs(`${pid}/task/${pid}`) + waitedMs('thread-self')

for (;;) {
  const waitedBefore = waitedForProcessors()
  const askedAt = performance.now()
  const isWell = await fetch(`${url}/healthz`).then(
    ({ ok }) => ok,
    () => false,
  )
  const answeredMs = isWell ? performance.now() - askedAt : Number.POSITIVE_INFINITY
  const ownMs = answeredMs - (waitedForProcessors() - waitedBefore)
  longest = {
    answeredMs: Math.max(longest.answeredMs, answeredMs),
    ownMs: Math.max(longest.ownMs, ownMs),
  }
  await new Promise((resolve) => setTimeout(resolve, PAUSE_MS))
}
