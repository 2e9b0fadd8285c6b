import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { type BelfryNode, startNodes } from './support/belfry.ts'
import { onCleanup } from './support/cleanup.ts'
import { percentileColumns } from './support/columns.ts'
import { benchmark, whole } from './support/command.ts'
import { type Percentiles, percentilesOf } from './support/percentiles.ts'
import { createBelfryDatabase, startPostgres } from './support/postgres.ts'

interface Row {
  readonly what: string
  /** What the documentation promises, in milliseconds. */
  readonly promised: number
  readonly took: Percentiles
}

const CANCEL_PROMISED_MS = 5_000
const RECLAIM_PROMISED_MS = 20_000
const POLL_MS = 5

await benchmark({
  name: 'promises',
  question:
    'How soon does a cancel reach a call on another node, and how soon does a dead worker’s run start again?',
  options: {
    cancels: whole(50, 'Calls that are cancelled one after another'),
    deaths: whole(3, 'Workers that are killed one after another'),
  },
  run: async ({ cancels, deaths }, report) => {
    const server = await startPostgres()
    const database = await createBelfryDatabase(server, 'bench_promises')
    const receiver = await startReceiver()
    const [api] = await startNodes(1, database.url, ['--roles', 'api,scheduler,liveness'])
    if (!api) throw new Error('The api node did not start.')
    let [worker] = await startNodes(1, database.url, ['--roles', 'worker', '--private-addresses', 'allow'])

    const cancelled: number[] = []
    for (let i = 0; i < cancels; i++) {
      report.step(`cancel ${i + 1} of ${cancels}`)
      cancelled.push(await cancelOne(api, receiver))
    }
    const reclaimed: number[] = []
    for (let i = 0; i < deaths; i++) {
      report.step(`death ${i + 1} of ${deaths}`)
      const arrived = receiver.next()
      await createTask(api, receiver)
      await arrived
      const again = receiver.next()
      const killedAt = performance.now()
      if (worker) process.kill(worker.pid, 'SIGKILL')
      ;[worker] = await startNodes(1, database.url, ['--roles', 'worker', '--private-addresses', 'allow'])
      await again
      reclaimed.push(performance.now() - killedAt)
      receiver.release()
    }
    report.table<Row>(
      'rows',
      'Milliseconds',
      [
        { title: 'what', of: (row) => row.what },
        { title: 'promised', of: (row) => row.promised },
        ...percentileColumns<Row>('took', (row) => row.took),
      ],
      [
        { what: 'cancel to end', promised: CANCEL_PROMISED_MS, took: percentilesOf(cancelled) },
        { what: 'kill -9 to second attempt', promised: RECLAIM_PROMISED_MS, took: percentilesOf(reclaimed) },
      ],
    )
  },
})

type Receiver = Awaited<ReturnType<typeof startReceiver>>

/** A receiver that answers nothing until the benchmark lets it. */
async function startReceiver() {
  const waiting: (() => void)[] = []
  const held = new Set<() => void>()
  const server = createServer((request, response) => {
    request.resume()
    const answer = () => response.writeHead(200).end()
    held.add(answer)
    response.once('close', () => held.delete(answer))
    waiting.shift()?.()
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  onCleanup(async () => {
    server.closeAllConnections()
    server.close()
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    /** Resolves with the next request that arrives. */
    next: () => new Promise<void>((arrived) => waiting.push(arrived)),
    /** Answers all requests that wait. */
    release: () => {
      for (const answer of held) answer()
    },
  }
}

/** From asking for the cancellation until the run has ended. */
async function cancelOne(api: BelfryNode, receiver: Receiver): Promise<number> {
  const arrived = receiver.next()
  const taskId = await createTask(api, receiver)
  await arrived
  const { items } = await ask(api, 'GET', `/v1/tasks/${taskId}/runs`)
  const runId = (items as readonly { id: string }[])[0]?.id
  const askedAt = performance.now()
  await ask(api, 'POST', `/v1/runs/${runId}/cancel`)
  while ((await ask(api, 'GET', `/v1/runs/${runId}`))['endedAt'] === null) await delay(POLL_MS)
  return performance.now() - askedAt
}

async function createTask(api: BelfryNode, { url }: Receiver): Promise<string> {
  const { id } = await ask(api, 'POST', '/v1/tasks', { action: { type: 'webhook', url } })
  return id as string
}

async function ask(
  api: BelfryNode,
  method: string,
  path: string,
  body?: unknown,
): Promise<Record<string, unknown>> {
  const response = await fetch(`${api.url}${path}`, {
    method,
    ...(body === undefined
      ? {}
      : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
  })
  if (!response.ok)
    throw new Error(`${method} ${path} was answered with ${response.status}: ${await response.text()}`)
  return (await response.json()) as Record<string, unknown>
}
