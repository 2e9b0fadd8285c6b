/**
 * Belfry under `kill -9`, as a whole and part by part, with work under way: what was accepted runs, each
 * occurrence has one row, and what ran twice is what was in a dead worker's hands.
 */
import { expect, test } from 'vitest'
import { CADENCE, QUICK, within } from '../support/cadence.ts'
import { eventually } from '../support/eventually.ts'
import {
  Client,
  doubledOccurrences,
  type LedgerRow,
  ledgerOf,
  lostRuns,
  untilEnded,
  type Wanted,
} from '../support/load.ts'
import {
  aDirectory,
  type Belfry,
  embeddedDatabaseUrl,
  embeddedPostmaster,
  startBelfry,
} from '../support/process.ts'
import { type Delivery, startSlowSink } from '../support/slow-sink.ts'

const EARLY_TOLERANCE_MS = 5

const inMs = (ms: number) => new Date(Date.now() + ms).toISOString()
const instants = (rows: readonly LedgerRow[]) => rows.map((row) => row.scheduledFor.getTime())

/** One-off tasks due within `spreadMs`, every other one a webhook, the rest naps. */
function oneOffs(
  from: number,
  to: number,
  { sinkUrl, spreadMs }: { sinkUrl: string; spreadMs: number },
): Wanted[] {
  return Array.from({ length: to - from }, (_, i) => {
    const n = from + i
    const action =
      n % 2 === 0
        ? { type: 'webhook', url: `${sinkUrl}/${n}`, body: { n } }
        : { type: 'sleep', duration: `${n % 51}ms` }
    return {
      key: `one-off-${n}`,
      body: { action, schedule: { type: 'once', at: inMs(((n * 7919) % spreadMs) + 100) } },
    }
  })
}

interface Grid {
  readonly startAt: number
  readonly endAt: number
  readonly stepMs: number
}

function recurring(count: number, grid: Grid): Wanted[] {
  return Array.from({ length: count }, (_, n) => ({
    key: `recurring-${n}`,
    body: {
      action: { type: 'sleep', duration: `${n % 30}ms` },
      schedule: { type: 'every', interval: `${grid.stepMs}ms`, anchor: new Date(grid.startAt).toISOString() },
      startAt: new Date(grid.startAt).toISOString(),
      endAt: new Date(grid.endAt).toISOString(),
      overlap: n % 2 === 0 ? 'skip' : 'allow',
    },
  }))
}

function everyInstantOf({ startAt, endAt, stepMs }: Grid): number[] {
  return Array.from({ length: Math.floor((endAt - startAt) / stepMs) + 1 }, (_, k) => startAt + k * stepMs)
}

const idsOf = (client: Client, prefix: string) =>
  client.accepted.filter(({ key }) => key.startsWith(prefix)).map(({ id }) => id)

/** Nothing was sent early, each message arrived, and more than once only when a worker died with it. */
function checkDeliveries(
  deliveries: readonly Delivery[],
  rows: readonly LedgerRow[],
  lost: ReadonlyMap<string, number>,
): void {
  const dueAt = new Map(rows.map((row) => [row.runId, row.scheduledFor.getTime()]))
  const early = deliveries.filter(
    ({ messageId, receivedAt }) => receivedAt < (dueAt.get(messageId) ?? 0) - EARLY_TOLERANCE_MS,
  )
  expect(early).toEqual([])
  for (const messageId of new Set(deliveries.map((delivery) => delivery.messageId))) {
    const ofOne = deliveries.filter((delivery) => delivery.messageId === messageId)
    expect(dueAt.has(messageId), `message ${messageId} belongs to a run`).toBe(true)
    expect(ofOne.length, `deliveries of ${messageId}`).toBeLessThanOrEqual(1 + (lost.get(messageId) ?? 0))
    const fences = ofOne.map(({ fence }) => fence)
    expect(fences, `fences of ${messageId} grow`).toEqual([...new Set(fences)].sort((a, b) => a - b))
  }
}

function report(title: string, figures: Record<string, number | string>): void {
  const text = Object.entries(figures).map(([name, value]) => `${name} ${value}`)
  process.stdout.write(`  ${title}: ${text.join(', ')}\n`)
}

const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`

test('after kill -9 of the process and its database everything accepted runs, with default settings', {
  timeout: within(90_000),
}, async () => {
  const dataDir = aDirectory()
  const databaseUrl = () => embeddedDatabaseUrl(dataDir)
  const sink = await startSlowSink((count) => (count * 13) % 50)
  const first = await startBelfry(['--data-dir', dataDir])
  const client = new Client(first.url)
  const startAt = Math.ceil(Date.now() / 1000) * 1000 + 1_000
  const grid: Grid = { startAt, endAt: startAt + 10_000, stepMs: 500 }
  await client.create(recurring(20, grid))
  await client.create(oneOffs(0, 700, { sinkUrl: sink.url, spreadMs: 5_000 }))

  // More are being created, and many are due, at the moment of the kill.
  const creating = client.create(oneOffs(700, 1_000, { sinkUrl: sink.url, spreadMs: 3_000 }))
  await eventually(async () => sink.deliveries.length > 100 && client.accepted.length > 800, { everyMs: 5 })
  const postmaster = embeddedPostmaster(dataDir) as number
  first.kill('SIGKILL')
  process.kill(postmaster, 'SIGKILL')
  const killedAt = performance.now()
  await first.exited
  const deliveredBefore = sink.deliveries.length

  const second = await startBelfry(['--data-dir', dataDir])
  client.url = second.url
  const upAfterMs = performance.now() - killedAt
  await creating
  const ids = client.accepted.map(({ id }) => id)
  await untilEnded(databaseUrl(), idsOf(client, 'one-off'), { withinMs: within(60_000) })
  const recoveredMs = performance.now() - killedAt
  await untilEnded(databaseUrl(), idsOf(client, 'recurring'), { withinMs: within(60_000) })

  const lost = await lostRuns(databaseUrl())
  const rows = await ledgerOf(databaseUrl(), idsOf(client, 'one-off'))
  report('killed process and database', {
    accepted: ids.length,
    'asked again': client.unanswered,
    run: rows.length,
    'held at the kill': lost.size,
    'delivered before': deliveredBefore,
    'delivered twice': sink.deliveries.length - 500,
    'up again after': seconds(upAfterMs),
    'all done after': seconds(recoveredMs),
  })
  expect(second.stdout).toContain('(recovered in')
  expect(new Set(ids).size).toBe(1_020)
  expect(rows.filter(({ state }) => state === 'completed')).toHaveLength(1_000)
  expect(new Set(rows.map(({ taskId }) => taskId)).size).toBe(1_000)
  expect(await doubledOccurrences(databaseUrl())).toEqual([])
  for (const taskId of idsOf(client, 'recurring')) {
    const occurrences = await ledgerOf(databaseUrl(), [taskId])
    expect(instants(occurrences)).toEqual(everyInstantOf(grid))
    expect(occurrences.filter(({ state, reason }) => state !== 'completed' && reason !== 'overlap')).toEqual(
      [],
    )
  }
  expect(new Set(sink.deliveries.map(({ taskId }) => taskId)).size).toBe(500)
  checkDeliveries(sink.deliveries, rows, lost)
  // The dead node's claim on the data names it, so nobody waits until its silence has lasted a lease.
  expect(recoveredMs).toBeLessThan(CADENCE.leaseMs)
})

test('after kill -9 of the process alone the database is adopted and everything runs', {
  timeout: within(60_000),
}, async () => {
  const { dataDir, databaseUrl, sink, belfry, client } = await underLoad(QUICK)
  const postmaster = embeddedPostmaster(dataDir)
  belfry.kill('SIGKILL')
  const killedAt = performance.now()
  await belfry.exited
  expect(embeddedPostmaster(dataDir)).toBe(postmaster)

  const second = await startBelfry(['--data-dir', dataDir, ...QUICK])
  const upAfterMs = performance.now() - killedAt
  const ids = client.accepted.map(({ id }) => id)
  await untilEnded(databaseUrl, ids, { withinMs: within(20_000) })

  const lost = await lostRuns(databaseUrl)
  const rows = await ledgerOf(databaseUrl, ids)
  report('killed process', {
    accepted: ids.length,
    run: rows.length,
    'held at the kill': lost.size,
    'up again after': seconds(upAfterMs),
    'all done after': seconds(performance.now() - killedAt),
  })
  expect(second.stdout).toContain('(was still running)')
  expect(embeddedPostmaster(dataDir)).toBe(postmaster)
  expect(rows.map(({ state }) => state)).toEqual(ids.map(() => 'completed'))
  expect(await doubledOccurrences(databaseUrl)).toEqual([])
  checkDeliveries(sink.deliveries, rows, lost)
  second.kill('SIGTERM')
  expect(await second.exited).toMatchObject({ code: 0 })
  expect(embeddedPostmaster(dataDir)).toBeNull()
})

test('after kill -9 of the database alone it is started again, and the API answers 503 meanwhile', {
  timeout: within(60_000),
}, async () => {
  const { dataDir, databaseUrl, sink, belfry, client } = await underLoad(QUICK)
  const before = embeddedPostmaster(dataDir) as number
  const statuses = new Set<number>()
  const probe = { isOn: true }
  const probing = (async () => {
    while (probe.isOn) statuses.add((await belfry.request('GET', '/v1/tasks?limit=1')).status)
  })()
  process.kill(before, 'SIGKILL')
  const killedAt = performance.now()

  const after = await eventually(async () => {
    const pid = embeddedPostmaster(dataDir)
    return pid !== before && pid
  })
  await eventually(async () => (await belfry.request('GET', '/readyz')).status === 200)
  const upAfterMs = performance.now() - killedAt
  probe.isOn = false
  await probing
  const ids = client.accepted.map(({ id }) => id)
  await untilEnded(databaseUrl, ids, { withinMs: within(40_000) })

  const lost = await lostRuns(databaseUrl)
  const rows = await ledgerOf(databaseUrl, ids)
  report('killed database', {
    accepted: ids.length,
    run: rows.length,
    'taken from a worker': lost.size,
    'up again after': seconds(upAfterMs),
    'all done after': seconds(performance.now() - killedAt),
  })
  expect(after).not.toBe(before)
  expect(belfry.log.filter(({ msg }) => msg === 'request failed')).toEqual([])
  expect([...statuses].sort()).toEqual([200, 503])
  expect(rows.map(({ state }) => state)).toEqual(ids.map(() => 'completed'))
  expect(await doubledOccurrences(databaseUrl)).toEqual([])
  checkDeliveries(sink.deliveries, rows, lost)
  expect(lost.size).toBe(0)
  belfry.kill('SIGTERM')
  expect(await belfry.exited).toMatchObject({ code: 0, signal: null })
})

test('SIGTERM under load ends with 0 within the grace, and nothing runs twice', {
  timeout: within(60_000),
}, async () => {
  const { dataDir, sink, belfry, client } = await underLoad([])
  belfry.kill('SIGTERM')
  const askedAt = performance.now()
  const exit = await belfry.exited
  const stoppedMs = performance.now() - askedAt
  expect(exit).toMatchObject({ code: 0, signal: null })
  expect(embeddedPostmaster(dataDir)).toBeNull()

  await startBelfry(['--data-dir', dataDir])
  const databaseUrl = embeddedDatabaseUrl(dataDir)
  const ids = client.accepted.map(({ id }) => id)
  await untilEnded(databaseUrl, ids, { withinMs: within(20_000) })

  const rows = await ledgerOf(databaseUrl, ids)
  report('SIGTERM', { accepted: ids.length, run: rows.length, 'stopped after': seconds(stoppedMs) })
  expect(rows.map(({ state }) => state)).toEqual(ids.map(() => 'completed'))
  expect(rows.filter(({ losses, attempt }) => losses > 0 || attempt > 1)).toEqual([])
  expect(await doubledOccurrences(databaseUrl)).toEqual([])
  checkDeliveries(sink.deliveries, rows, new Map())
  expect(stoppedMs).toBeLessThan(30_000)
})

/** A Belfry with 300 one-off tasks, at a moment when some have run, some are running and some are to come. */
async function underLoad(flags: readonly string[]): Promise<{
  dataDir: string
  databaseUrl: string
  sink: { url: string; deliveries: Delivery[] }
  belfry: Belfry
  client: Client
}> {
  const dataDir = aDirectory()
  const sink = await startSlowSink((count) => (count * 37) % 200)
  const belfry = await startBelfry(['--data-dir', dataDir, ...flags])
  const client = new Client(belfry.url)
  await client.create(oneOffs(0, 300, { sinkUrl: sink.url, spreadMs: 2_500 }))
  await eventually(async () => sink.deliveries.length > 30, { everyMs: 5 })
  return { dataDir, databaseUrl: embeddedDatabaseUrl(dataDir), sink, belfry, client }
}
