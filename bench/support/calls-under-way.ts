/** Measures the memory that unanswered calls need: in the HTTP client alone, and in a whole node. */
import { setTimeout as delay } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { HttpClient, targetOf } from '../../src/outgoing/http-client.ts'
import { startNodes } from './belfry.ts'
import { residentMiB } from './cpu.ts'
import { createBelfryDatabase, type Server } from './postgres.ts'
import type { Column } from './report.ts'
import { startTargets, type Targets } from './targets.ts'
import { afterFilling, fill } from './tasks.ts'

export interface CallsScenario {
  readonly calls: number
  readonly targets: number
}

export interface CallsRow extends CallsScenario {
  readonly who: string
  readonly idleMiB: number
  readonly residentMiB: number
  /** Null if only the measured process itself could report it. */
  readonly heapMiB: number | null
}

const KIB_PER_MIB = 1_024
const perCall = ({ calls }: CallsRow, mib: number) => ((mib * KIB_PER_MIB) / calls).toFixed(1)

export const CALLS_COLUMNS: readonly Column<CallsRow>[] = [
  { title: 'measured', of: (row) => row.who },
  { title: 'calls', of: (row) => row.calls },
  { title: 'targets', of: (row) => row.targets },
  { title: 'RSS idle MiB', of: (row) => Math.round(row.idleMiB) },
  { title: 'RSS MiB', of: (row) => Math.round(row.residentMiB) },
  { title: 'RSS KiB/call', of: (row) => perCall(row, row.residentMiB - row.idleMiB) },
  { title: 'heap KiB/call', of: (row) => (row.heapMiB === null ? '' : perCall(row, row.heapMiB)) },
]

const WARM_UP = 1_000
const SETTLE_MS = 5_000
const POLL_MS = 100
const TIMEOUT_MS = 120_000

/** Measures the client in this process. Kernel memory of its sockets is not included, because it belongs to no process. */
export async function takeClient(scenario: CallsScenario): Promise<CallsRow> {
  const targets = startTargets()
  const client = new HttpClient({ allowPrivate: true, connectionsPerOrigin: scenario.calls })
  const healthy = await targets.open('healthy')
  await Promise.all(send(client, healthy, WARM_UP))
  const silent = await targets.open('silent', { count: scenario.targets })
  const before = memory()
  const calls = send(client, silent, scenario.calls)
  await untilUnderWay(targets, scenario.calls)
  const after = memory()
  await client.close()
  await Promise.all(calls)
  await targets.stop()
  return {
    ...scenario,
    who: 'HTTP client',
    idleMiB: before.residentMiB,
    residentMiB: after.residentMiB,
    heapMiB: after.heapMiB - before.heapMiB,
  }
}

/** These calls are never cancelled: a signal shared by thousands of calls would become part of the measurement. */
const NO_SIGNAL = { aborted: false, addEventListener: () => {}, removeEventListener: () => {} }

function send(client: HttpClient, urls: readonly string[], count: number) {
  return Array.from({ length: count }, (_, i) => {
    const target = targetOf(new URL(`${urls[i % urls.length]}/${i}`))
    return client.send({ target, method: 'POST', headers: [], body: '{}', signal: NO_SIGNAL })
  })
}

function memory() {
  setFlagsFromString('--expose-gc')
  runInNewContext('gc')()
  const { rss, heapUsed, external } = process.memoryUsage()
  const mib = (bytes: number) => bytes / KIB_PER_MIB ** 2
  return { residentMiB: mib(rss), heapMiB: mib(heapUsed + external) }
}

/** Measures a node with everything that it keeps for a run: the lease, the attempt, the definition. */
export async function takeNode(scenario: CallsScenario, server: Server): Promise<CallsRow> {
  const { calls, targets: count } = scenario
  const database = await createBelfryDatabase(server, 'bench_calls_under_way')
  const targets = startTargets()
  // Twice the number of calls, because targets with many calls get none of the last quarter.
  const [node] = await startNodes(1, database.url, [
    '--max-calls',
    String(2 * calls),
    '--shutdown-grace-ms',
    '0',
  ])
  const pid = node?.pid ?? 0
  const healthy = await targets.open('healthy')
  await fillCalls(database.url, healthy, WARM_UP)
  await delay(SETTLE_MS)
  const idleMiB = residentMiB(pid)
  const silent = await targets.open('silent', { count })
  await fillCalls(database.url, silent, calls)
  await untilUnderWay(targets, calls)
  await delay(SETTLE_MS)
  const row = { ...scenario, who: 'node', idleMiB, residentMiB: residentMiB(pid), heapMiB: null }
  await node?.stop()
  await targets.stop()
  await database.drop()
  return row
}

async function fillCalls(url: string, urls: readonly string[], count: number): Promise<void> {
  const dueAt = afterFilling(count)
  await fill(url, {
    count,
    dueAt: () => dueAt,
    definition: (i) => ({ action: { type: 'webhook', url: `${urls[i % urls.length]}/${i}` } }),
  })
  await delay(dueAt - Date.now())
}

async function untilUnderWay(targets: Targets, calls: number): Promise<void> {
  const until = Date.now() + TIMEOUT_MS
  for (;;) {
    const { underWay } = await targets.underWay()
    if (underWay >= calls) return
    if (Date.now() > until) throw new Error(`${underWay} of ${calls} calls are under way`)
    await delay(POLL_MS)
  }
}
