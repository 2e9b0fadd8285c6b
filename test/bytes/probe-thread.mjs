/** Asks a node whether it is well, again and again, in a thread that has nothing else to do; tells the longest answer when asked. */
import { parentPort, workerData } from 'node:worker_threads'

let longestMs = 0
parentPort?.on('message', () => {
  parentPort?.postMessage(longestMs)
  longestMs = 0
})

for (;;) {
  const askedAt = performance.now()
  const isWell = await fetch(`${workerData}/healthz`).then(
    ({ ok }) => ok,
    () => false,
  )
  longestMs = isWell ? Math.max(longestMs, performance.now() - askedAt) : Number.POSITIVE_INFINITY
  await new Promise((resolve) => setTimeout(resolve, 20))
}
