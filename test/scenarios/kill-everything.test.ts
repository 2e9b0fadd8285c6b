/**
 * Belfry under `kill -9`, as a whole and part by part, with work under way: what was accepted runs, each
 * occurrence has one row, and what ran twice is what was in a dead worker's hands.
 */
import { expect, test } from 'vitest'
import { Client, type Wanted } from '../checker/client.ts'
import type { HistoryRow, Tables } from '../checker/evidence.ts'
import { expectSound } from '../checker/expect-sound.ts'
import { Nemesis } from '../checker/nemesis.ts'
import { ask, recordChanges, untilEnded } from '../checker/observe.ts'
import { dueInstants } from '../checker/oracle.ts'
import { type Sink, startSink } from '../checker/sink.ts'
import { STEADY, within } from '../support/cadence.ts'
import { eventually } from '../support/eventually.ts'
import {
  aDirectory,
  type Belfry,
  embeddedDatabaseUrl,
  embeddedPostmaster,
  startBelfry,
} from '../support/process.ts'

/** By then what a fault has held up must have begun. */
const RECOVERY_MS = within(60_000)

/** Nodes that were known to be dead before anybody was there who could have missed their beats. */
const DEAD_BEFORE_ANYBODY = `
  select reason from node where dead_at < (select min(started_at) from node where dead_at is null)`

const inMs = (ms: number) => new Date(Date.now() + ms).toISOString()

/** One-off tasks due within `spreadMs`, every other one a webhook, the rest naps. */
function oneOffs(
  from: number,
  to: number,
  { sink, spreadMs, longestMs }: { sink: Sink; spreadMs: number; longestMs: number },
): Wanted[] {
  return Array.from({ length: to - from }, (_, i) => {
    const n = from + i
    const action =
      n % 2 === 0
        ? { type: 'webhook', url: sink.url(`one-off/${n}`, { ms: (n * 37) % longestMs }), body: { n } }
        : { type: 'sleep', duration: `${n % 51}ms` }
    const key = `one-off-${n}`
    return { key, body: { key, action, schedule: { type: 'once', at: inMs(((n * 7919) % spreadMs) + 100) } } }
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
      key: `recurring-${n}`,
      action: { type: 'sleep', duration: `${n % 30}ms` },
      schedule: { type: 'every', interval: `${grid.stepMs}ms`, anchor: new Date(grid.startAt).toISOString() },
      startAt: new Date(grid.startAt).toISOString(),
      endAt: new Date(grid.endAt).toISOString(),
      overlap: n % 2 === 0 ? 'skip' : 'allow',
    },
  }))
}

/** How many occurrences the recurring tasks have: on a busy machine the grid may begin before they are created. */
const owed = ({ requests }: Client) =>
  requests.flatMap(({ verb, taskId, body, createdAt }) =>
    verb === 'create' && taskId && body?.schedule?.type === 'every'
      ? dueInstants({ body, createdAt: createdAt ?? 0 }, Date.now())
      : [],
  ).length

/** For how many occurrences a row speaks. */
const occurrencesOf = ({ scheduledFor, coversUntil }: HistoryRow, { stepMs }: Grid) =>
  ((coversUntil ?? scheduledFor) - scheduledFor) / stepMs + 1

/** What the database says of the tasks whose keys begin so. */
const historyOf = ({ history }: Tables, client: Client, prefix: string): HistoryRow[] => {
  const ids = new Set(client.idsOf(prefix))
  return history.filter(({ taskId }) => ids.has(taskId))
}

const lostAttempts = ({ attempts }: Tables) =>
  attempts.filter(({ outcome }) => outcome === 'worker_lost').length

function report(title: string, figures: Record<string, number | string>): void {
  const text = Object.entries(figures).map(([name, value]) => `${name} ${value}`)
  process.stdout.write(`  ${title}: ${text.join(', ')}\n`)
}

const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`

test('after kill -9 of the process and its database all accepted tasks run, with default settings', {
  timeout: within(240_000),
}, async () => {
  const dataDir = aDirectory()
  const databaseUrl = () => embeddedDatabaseUrl(dataDir)
  const sink = await startSink()
  const first = await startBelfry(['--data-dir', dataDir])
  await recordChanges(databaseUrl())
  const client = new Client(first.url)
  const startAt = Math.ceil(Date.now() / 1000) * 1000 + 1_000
  const grid: Grid = { startAt, endAt: startAt + 6_000, stepMs: 500 }
  await client.create(recurring(20, grid))
  await client.create(oneOffs(0, 400, { sink, spreadMs: 4_000, longestMs: 50 }))

  // More are being created, and many are due, at the moment of the kill.
  const creating = client.create(oneOffs(400, 600, { sink, spreadMs: 3_000, longestMs: 50 }))
  await eventually(async () => sink.deliveries.length > 100 && client.accepted.length > 500, { everyMs: 5 })
  const postmaster = embeddedPostmaster(dataDir) as number
  const nemesis = new Nemesis(databaseUrl())
  const over = nemesis.note('kill', [first.pid], RECOVERY_MS)
  first.kill('SIGKILL')
  process.kill(postmaster, 'SIGKILL')
  const killedAt = performance.now()
  await first.exited
  const deliveredBefore = sink.deliveries.length

  const second = await startBelfry(['--data-dir', dataDir])
  over()
  client.url = second.url
  const upAfterMs = performance.now() - killedAt
  await creating
  await untilEnded(databaseUrl(), client.idsOf('one-off'), { withinMs: within(60_000) })
  const recoveredMs = performance.now() - killedAt
  await untilEnded(databaseUrl(), client.idsOf('recurring'), { withinMs: within(60_000) })

  const { faults } = nemesis
  const tables = await expectSound({ url: databaseUrl(), client, sink, faults, mustSee: ['reclaims'] })
  const rows = historyOf(tables, client, 'one-off')
  report('killed process and database', {
    accepted: client.accepted.length,
    'asked again': client.unanswered,
    run: rows.length,
    'held at the kill': lostAttempts(tables),
    'delivered before': deliveredBefore,
    'delivered twice': sink.deliveries.length - 300,
    'up again after': seconds(upAfterMs),
    'all done after': seconds(recoveredMs),
  })
  expect(second.stdout).toContain('(recovered in')
  expect(new Set(client.accepted.map(({ id }) => id)).size).toBe(620)
  expect(rows.filter(({ state }) => state === 'completed')).toHaveLength(600)
  expect(new Set(sink.deliveries.map(({ taskId }) => taskId)).size).toBe(300)
  const recurred = historyOf(tables, client, 'recurring')
  expect(recurred.map((row) => occurrencesOf(row, grid)).reduce((sum, n) => sum + n, 0)).toBe(owed(client))
  const reasons = recurred.filter(({ state }) => state !== 'completed').map(({ reason }) => reason)
  expect(reasons.filter((reason) => reason !== 'overlap' && reason !== 'misfire')).toEqual([])
  // The dead node's claim on the data names it, so nobody waits until its silence has lasted a lease.
  expect(await ask(databaseUrl(), DEAD_BEFORE_ANYBODY)).toEqual([{ reason: 'lost' }])
})

test('after kill -9 of the process alone the next one adopts the database, and all tasks run', {
  timeout: within(240_000),
}, async () => {
  const { dataDir, databaseUrl, sink, belfry, client } = await underLoad(STEADY)
  const postmaster = embeddedPostmaster(dataDir)
  const nemesis = new Nemesis(databaseUrl)
  const over = nemesis.note('kill', [belfry.pid], RECOVERY_MS)
  belfry.kill('SIGKILL')
  const killedAt = performance.now()
  await belfry.exited
  expect(embeddedPostmaster(dataDir)).toBe(postmaster)

  const second = await startBelfry(['--data-dir', dataDir, ...STEADY])
  over()
  const upAfterMs = performance.now() - killedAt
  await untilEnded(databaseUrl, client.idsOf('one-off'), { withinMs: within(60_000) })

  const { faults } = nemesis
  const tables = await expectSound({ url: databaseUrl, client, sink, faults, mustSee: ['reclaims'] })
  report('killed process', {
    accepted: client.accepted.length,
    run: tables.history.length,
    'held at the kill': lostAttempts(tables),
    'up again after': seconds(upAfterMs),
    'all done after': seconds(performance.now() - killedAt),
  })
  expect(second.stdout).toContain('(was still running)')
  expect(embeddedPostmaster(dataDir)).toBe(postmaster)
  expect(tables.history.map(({ state }) => state)).toEqual(client.accepted.map(() => 'completed'))
  second.kill('SIGTERM')
  expect(await second.exited).toMatchObject({ code: 0 })
  expect(embeddedPostmaster(dataDir)).toBeNull()
})

test('after kill -9 of the database alone it is restarted, and the API answers nothing worse than 503', {
  timeout: within(240_000),
}, async () => {
  const { dataDir, databaseUrl, sink, belfry, client } = await underLoad(STEADY)
  const before = embeddedPostmaster(dataDir) as number
  const statuses = new Set<number>()
  const probe = { isOn: true }
  const probing = (async () => {
    while (probe.isOn) statuses.add((await belfry.request('GET', '/v1/tasks?limit=1')).status)
  })()
  const nemesis = new Nemesis(databaseUrl)
  const over = nemesis.note('kill_database', [], RECOVERY_MS)
  process.kill(before, 'SIGKILL')
  const killedAt = performance.now()

  const after = await eventually(async () => {
    const pid = embeddedPostmaster(dataDir)
    return pid !== before && pid
  })
  await eventually(async () => (await belfry.request('GET', '/readyz')).status === 200)
  over()
  const upAfterMs = performance.now() - killedAt
  probe.isOn = false
  await probing
  await untilEnded(databaseUrl, client.idsOf('one-off'), { withinMs: within(60_000) })

  const tables = await expectSound({ url: databaseUrl, client, sink, faults: nemesis.faults })
  report('killed database', {
    accepted: client.accepted.length,
    run: tables.history.length,
    'taken from a worker': lostAttempts(tables),
    'up again after': seconds(upAfterMs),
    'all done after': seconds(performance.now() - killedAt),
  })
  expect(after).not.toBe(before)
  expect(belfry.log.filter(({ msg }) => msg === 'request failed')).toEqual([])
  // Requests wait for a database that is back soon, and are told to come again where it is not.
  expect([200, 503]).toEqual(expect.arrayContaining([...statuses]))
  expect(tables.history.map(({ state }) => state)).toEqual(client.accepted.map(() => 'completed'))
  expect(lostAttempts(tables)).toBe(0)
  belfry.kill('SIGTERM')
  expect(await belfry.exited).toMatchObject({ code: 0, signal: null })
})

test('SIGTERM under load exits with code 0, and nothing runs twice', {
  timeout: within(240_000),
}, async () => {
  const { dataDir, databaseUrl, sink, belfry, client } = await underLoad([])
  const nemesis = new Nemesis(databaseUrl)
  const over = nemesis.note('stop', [belfry.pid], RECOVERY_MS)
  belfry.kill('SIGTERM')
  const askedAt = performance.now()
  const exit = await belfry.exited
  const stoppedMs = performance.now() - askedAt
  expect(exit).toMatchObject({ code: 0, signal: null })
  expect(embeddedPostmaster(dataDir)).toBeNull()

  await startBelfry(['--data-dir', dataDir])
  over()
  const url = embeddedDatabaseUrl(dataDir)
  await untilEnded(url, client.idsOf('one-off'), { withinMs: within(60_000) })

  const { history } = await expectSound({ url, client, sink, faults: nemesis.faults })
  report('SIGTERM', {
    accepted: client.accepted.length,
    run: history.length,
    'stopped after': seconds(stoppedMs),
  })
  expect(history.map(({ state }) => state)).toEqual(client.accepted.map(() => 'completed'))
  expect(history.filter(({ losses, attempt }) => losses > 0 || attempt > 1)).toEqual([])
})

/** A Belfry with 300 one-off tasks, at a moment when some have run, some are running and some are to come. */
async function underLoad(flags: readonly string[]): Promise<{
  dataDir: string
  databaseUrl: string
  sink: Sink
  belfry: Belfry
  client: Client
}> {
  const dataDir = aDirectory()
  const sink = await startSink()
  const belfry = await startBelfry(['--data-dir', dataDir, ...flags])
  const databaseUrl = embeddedDatabaseUrl(dataDir)
  await recordChanges(databaseUrl)
  const client = new Client(belfry.url)
  await client.create(oneOffs(0, 300, { sink, spreadMs: 2_500, longestMs: 200 }))
  await eventually(async () => sink.deliveries.length > 30, { everyMs: 5 })
  return { dataDir, databaseUrl, sink, belfry, client }
}
