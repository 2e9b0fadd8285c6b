/** Measures a target that takes 2 s for each call, always has, and copes with all calls: it is slow, not broken. */
import { setTimeout as delay } from 'node:timers/promises'
import { startNodes } from './belfry.ts'
import { percentileColumns } from './columns.ts'
import { type Percentiles, percentilesOf } from './percentiles.ts'
import { createBelfryDatabase, type Server } from './postgres.ts'
import type { Column } from './report.ts'
import { startTargets } from './targets.ts'
import { afterFilling, assertAllDone, fill, readHistory, untilDone } from './tasks.ts'

interface Row {
  readonly rate: number
  readonly received: Percentiles
  readonly mostUnderWay: number
}

export const SLOW_COLUMNS: readonly Column<Row>[] = [
  { title: 'calls/s', of: (row) => row.rate },
  ...percentileColumns<Row>('received', (row) => row.received),
  { title: 'most under way', of: (row) => row.mostUnderWay },
]

/** With 2 s each that is 100 under way, of 128 that a target may have at first. */
const RATE = 50
const SLOW_MS = 2_000
const SECONDS = 60
const WARM_UP_MS = 3_000

export async function takeSlow(server: Server): Promise<Row> {
  const database = await createBelfryDatabase(server, 'bench_slow')
  const targets = startTargets()
  const nodes = await startNodes(1, database.url)
  const [slow = ''] = await targets.open('slow', { ms: SLOW_MS })
  const count = RATE * SECONDS
  const startAt = afterFilling(count)
  await fill(database.url, {
    count,
    dueAt: (i) => Math.floor(startAt + (i * 1_000) / RATE),
    definition: { action: { type: 'webhook', url: `${slow}/` } },
  })

  const endAt = startAt + SECONDS * 1_000
  await delay(endAt - Date.now())
  await untilDone(database.db, { dueBefore: endAt + 1, timeoutMs: 120_000 })
  assertAllDone(await readHistory(database.db), count)
  const { calls, mostUnderWay } = await targets.read(slow)
  await Promise.all(nodes.map((node) => node.stop()))
  await targets.stop()
  await database.drop()
  const measured = calls.filter(({ dueAt }) => dueAt >= startAt + WARM_UP_MS)
  return { rate: RATE, received: percentilesOf(measured.map(({ at, dueAt }) => at - dueAt)), mostUnderWay }
}
