/** Calls to a healthy target, beside calls to broken ones that were due a second before. */
import { setTimeout as delay } from 'node:timers/promises'
import { sql } from '../../src/store/database/sql.ts'
import type { TargetKind } from '../../test/support/target-servers.ts'
import { type BelfryNode, startNodes } from './belfry.ts'
import { percentileColumns } from './columns.ts'
import { peakMiB } from './cpu.ts'
import { type Percentiles, percentilesOf } from './percentiles.ts'
import { type BenchDatabase, createBelfryDatabase, type Server } from './postgres.ts'
import type { Column } from './report.ts'
import { startTargets, type Targets } from './targets.ts'
import { afterFilling, fill } from './tasks.ts'

/** `hanging` is three calls to targets that take 30 s for each two to targets that never answer; `mixed` is all kinds in turn. */
export const BROKEN_KINDS = [
  'hanging',
  'silent',
  'closes',
  'refuses',
  'garbage',
  'unavailable',
  'resets',
  'mixed',
] as const
export type BrokenKind = (typeof BROKEN_KINDS)[number]

const MIXED: readonly TargetKind[] = ['silent', 'closes', 'refuses', 'garbage', 'unavailable', 'resets']

export interface BrokenScenario {
  readonly kind: BrokenKind
  readonly broken: number
  readonly nodes: number
  readonly runs: number
  readonly seconds: number
}

export interface BrokenRow extends BrokenScenario {
  /** Received − due. A call that was not received counts with its lateness at the end of the measurement. */
  readonly received: Percentiles
  readonly delivered: number
  readonly mostUnderWay: number
  /** Attempts at broken targets that history or the agenda know. */
  readonly attempts: number
  readonly nodeMiB: number
}

export const BROKEN_COLUMNS: readonly Column<BrokenRow>[] = [
  { title: 'broken targets', of: (row) => `${row.broken} ${row.kind}` },
  { title: 'nodes', of: (row) => row.nodes },
  { title: 'delivered', of: (row) => row.delivered },
  ...percentileColumns<BrokenRow>('received', (row) => row.received),
  { title: 'most under way', of: (row) => row.mostUnderWay },
  { title: 'attempts at broken', of: (row) => row.attempts },
  { title: 'peak RSS MiB', of: (row) => row.nodeMiB },
]

const RATE = 100
const SLOW_MS = 30_000
/** How long calls go to the healthy target before the measurement: a fresh process first compiles its code. */
const WARM_UP_MS = 3_000
/** Time between the end of the warm-up and the calls to broken targets, and between these and the first measured call. */
const HEAD_START_MS = 1_000
/** How long to wait for the last calls. A call that has not arrived by then counts with its lateness so far. */
const PATIENCE_MS = 20_000
const POLL_MS = 100

export async function takeBroken(scenario: BrokenScenario, server: Server): Promise<BrokenRow> {
  const database = await createBelfryDatabase(server, 'bench_targets')
  const targets = startTargets()
  const nodes = await startNodes(scenario.nodes, database.url)
  const [healthy = ''] = await targets.open('healthy')
  const broken = await openBroken(targets, scenario)
  const count = RATE * scenario.seconds
  const startAt = await fillAll(database.url, scenario, { healthy, broken, count })

  await delay(startAt + scenario.seconds * 1_000 - Date.now())
  const received = await untilReceived(targets, healthy, { startAt, count })
  const { mostUnderWay } = await targets.underWay()
  const row = {
    ...scenario,
    received: percentilesOf(received.lateMs),
    delivered: received.delivered,
    mostUnderWay,
    attempts: await attemptsAt(database, startAt - HEAD_START_MS),
    nodeMiB: Math.max(...nodes.map(({ pid }) => peakMiB(pid))),
  }
  await killAll(nodes)
  await targets.stop()
  await database.drop()
  return row
}

/** The address of each call to a broken target, in turn. */
async function openBroken(
  targets: Targets,
  { kind, broken }: BrokenScenario,
): Promise<(i: number) => string> {
  const inTurn = (urls: readonly string[]) => (i: number) => urls[i % urls.length] ?? ''
  if (kind === 'hanging') {
    const half = Math.max(1, Math.round(broken / 2))
    const slow = inTurn(await targets.open('slow', { count: half, ms: SLOW_MS }))
    const silent = inTurn(await targets.open('silent', { count: half }))
    return (i) => (i % 5 < 3 ? slow : silent)(Math.floor(i / 5))
  }
  const kinds = kind === 'mixed' ? MIXED : [kind]
  const urls: string[] = []
  for (let i = 0; i < Math.max(broken, kinds.length); i++)
    urls.push(...(await targets.open(kinds[i % kinds.length] ?? 'silent')))
  return inTurn(urls)
}

interface Filling {
  readonly healthy: string
  readonly broken: (i: number) => string
  readonly count: number
}

/** Creates all tasks; returns when the first measured call is due. */
async function fillAll(
  url: string,
  { runs }: BrokenScenario,
  { healthy, broken, count }: Filling,
): Promise<number> {
  const warmUps = (RATE * WARM_UP_MS) / 1_000
  const firstAt = afterFilling(runs + count + warmUps)
  const startAt = firstAt + WARM_UP_MS + 2 * HEAD_START_MS
  const webhook = (target: string) => ({ action: { type: 'webhook' as const, url: `${target}/` } })
  const evenly = (from: number) => (i: number) => Math.floor(from + (i * 1_000) / RATE)
  await fill(url, { count: warmUps, dueAt: evenly(firstAt), definition: webhook(healthy) })
  await fill(url, {
    count: runs,
    dueAt: () => startAt - HEAD_START_MS,
    definition: (i) => webhook(broken(i)),
  })
  await fill(url, { count, dueAt: evenly(startAt), definition: webhook(healthy) })
  return startAt
}

async function untilReceived(
  targets: Targets,
  healthy: string,
  { startAt, count }: { startAt: number; count: number },
) {
  const deadline = performance.now() + PATIENCE_MS
  for (;;) {
    const { calls } = await targets.read(healthy)
    const measured = calls.filter(({ dueAt }) => dueAt >= startAt)
    const delivered = new Set(measured.map(({ runId }) => runId)).size
    if (delivered !== measured.length) throw new Error(`${measured.length - delivered} calls came twice.`)
    if (delivered === count || performance.now() > deadline) {
      const lateMs = measured.map(({ at, dueAt }) => at - dueAt)
      const missing = new Set(measured.map(({ dueAt }) => dueAt))
      for (let i = 0; i < count; i++) {
        const dueAt = Math.floor(startAt + (i * 1_000) / RATE)
        if (!missing.has(dueAt)) lateMs.push(Date.now() - dueAt)
      }
      return { delivered, lateMs }
    }
    await delay(POLL_MS)
  }
}

async function attemptsAt({ db }: BenchDatabase, dueAt: number): Promise<number> {
  const [row] = await db.run(sql<{ attempts: number }>`
    select coalesce(sum(attempt), 0)::integer as attempts from (
      select attempt from agenda where scheduled_for = to_timestamp(${dueAt}::float8 / 1000)
      union all
      select attempt from run where scheduled_for = to_timestamp(${dueAt}::float8 / 1000)) live`)
  return row?.attempts ?? 0
}

/** Kills the nodes without waiting for calls to broken targets, which can take twenty minutes. */
export async function killAll(nodes: readonly BelfryNode[]): Promise<void> {
  for (const { pid } of nodes) process.kill(pid, 'SIGKILL')
  await Promise.all(nodes.map((node) => node.stop()))
}
