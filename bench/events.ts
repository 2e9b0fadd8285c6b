import { setTimeout as delay } from 'node:timers/promises'
import { startNodes } from './support/belfry.ts'
import { startChild } from './support/child.ts'
import { percentileColumns } from './support/columns.ts'
import { benchmark, someOf, whole } from './support/command.ts'
import { type CostPerRun, measure, perRun } from './support/measure.ts'
import { type Percentiles, percentilesOf } from './support/percentiles.ts'
import { createBelfryDatabase, type Server, startPostgres } from './support/postgres.ts'
import type { Column } from './support/report.ts'
import { afterFilling, assertAllDone, fill, readHistory, untilDone } from './support/tasks.ts'

/** How the receiver gets events: not at all, on the stream, or by webhook with one or many events per message. */
const WAYS = ['nobody', 'stream', 'webhook', 'batches'] as const
type Way = (typeof WAYS)[number]

interface Scenario {
  readonly way: Way
  readonly rate: number
  readonly seconds: number
  readonly cutEverySeconds: number
}

/** What the receiver of events has received. */
interface Heard {
  readonly received: number
  readonly messages: number
  readonly connections: number
  readonly distinct: number
  readonly delaysMs: readonly number[]
}

interface Row extends CostPerRun {
  readonly way: Way
  readonly heard: Heard | null
  readonly delays: Percentiles | null
  /** From the first due instant until all events were received. */
  readonly eventsPerSecond: number | null
}

const COLUMNS: readonly Column<Row>[] = [
  { title: 'told', of: ({ way }) => way },
  { title: 'events', of: ({ heard }) => heard?.distinct ?? null },
  { title: 'twice', of: ({ heard }) => (heard ? heard.received - heard.distinct : null) },
  { title: 'messages', of: ({ heard }) => heard?.messages || null },
  { title: 'connections', of: ({ heard }) => heard?.connections || null },
  { title: 'events/s', of: (row) => row.eventsPerSecond },
  ...percentileColumns<Row>('delay', (row) => row.delays),
  { title: 'CPU µs/run', of: (row) => row.cpuUsPerRun },
  { title: 'database', of: (row) => row.databaseUsPerRun },
  { title: 'node', of: (row) => row.nodeUsPerRun },
]

const BATCH_SIZE = 100
const HEARD_TIMEOUT_MS = 60_000
const POLL_MS = 20

await benchmark({
  name: 'events',
  question: 'How soon after its end is a run told of, are all of them told, and what does that cost?',
  options: {
    way: someOf(WAYS, 'How somebody is told'),
    rate: whole(1_000, 'Runs due each second, of as many tasks'),
    seconds: whole(20, 'How long it goes on'),
    cutEverySeconds: whole(3, 'How often the stream is cut off, to be taken up again'),
  },
  run: async ({ way: ways, ...rest }, report) => {
    const server = await startPostgres()
    const rows: Row[] = []
    for (const way of ways) {
      report.step(way)
      rows.push(await take({ way, ...rest }, server))
    }
    const { rate, seconds } = rest
    report.table(
      'rows',
      `${rate} runs/s for ${seconds} s; delay in ms after the end of the run`,
      COLUMNS,
      rows,
    )
  },
})

async function take({ way, rate, seconds, cutEverySeconds }: Scenario, server: Server): Promise<Row> {
  const database = await createBelfryDatabase(server, 'bench_events')
  const [node] = await startNodes(1, database.url)
  if (!node) throw new Error('there is no node')
  const receiver = way === 'nobody' ? null : startChild('support/event-receiver.mjs')
  if (receiver && way === 'stream') await receiver.call('follow', { url: node.url })
  else if (receiver) await subscribe(node.url, await receiver.call<string>('listen'), way)
  const runs = rate * seconds
  const startAt = afterFilling(runs)
  await fill(database.url, { count: runs, dueAt: (i) => Math.floor(startAt + (i * 1_000) / rate) })

  await delay(startAt - Date.now())
  const finish = await measure(await database.subject([node.pid]))
  const endAt = startAt + seconds * 1_000
  for (
    let at = startAt + cutEverySeconds * 1_000;
    way === 'stream' && at < endAt;
    at += cutEverySeconds * 1_000
  ) {
    await delay(Math.max(0, at - Date.now()))
    await receiver?.call('cut')
  }
  await delay(Math.max(0, endAt - Date.now()))
  await untilDone(database.db, { dueBefore: endAt + 1, timeoutMs: HEARD_TIMEOUT_MS })
  for (const deadline = performance.now() + HEARD_TIMEOUT_MS; receiver; await delay(POLL_MS)) {
    const heard = await receiver.call<number>('count')
    if (heard === runs) break
    if (performance.now() > deadline) throw new Error(`Of ${runs} events ${heard} were heard.`)
  }
  const heardIn = (Date.now() - startAt) / 1_000
  const cost = await finish()

  assertAllDone(await readHistory(database.db), runs)
  const heard = receiver ? await receiver.call<Heard>('read') : null
  if (way === 'stream') await receiver?.call('leave')
  await receiver?.stop()
  await node.stop()
  await database.drop()
  return {
    way,
    heard: heard && { ...heard, delaysMs: [] },
    delays: heard && percentilesOf(heard.delaysMs),
    eventsPerSecond: heard && heard.distinct / heardIn,
    ...perRun(runs, cost),
  }
}

async function subscribe(server: string, url: string, way: Way): Promise<void> {
  const answer = await fetch(`${server}/v1/subscriptions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ url, batchSize: way === 'batches' ? BATCH_SIZE : 1 }),
  })
  if (answer.status !== 201) throw new Error(`the subscription was refused: ${await answer.text()}`)
}
