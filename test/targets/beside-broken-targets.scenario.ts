/**
 * Slow targets delay only their own calls: calls to a healthy target are on time, whatever becomes of 500 calls to
 * broken ones that were due a second before. Figures that are promised, asserted as promised: this suite runs alone.
 */
import { expect, test } from 'vitest'
import { createTestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { type Belfry, startBelfry } from '../support/process.ts'
import { startTargets, type Target, type TargetKind, type Targets } from '../support/target-servers.ts'

const PROMISED_P99_MS = 100
const HEALTHY = 1_000
const RATE = 100
const BROKEN = 500
const SLOW_MS = 30_000
/** Calls to the healthy target before anything is measured. */
const WARM_UPS = 300
/** From creating the tasks to the first of them: nodes read ahead, and creating takes a while. */
const AHEAD_MS = 15_000
const HEAD_START_MS = 1_000

const KINDS: readonly TargetKind[] = ['silent', 'closes', 'refuses', 'garbage', 'unavailable', 'resets']

/** Of the scenario that led to this: three of five calls go to targets that take 30 s, the others to such that never answer. */
async function hanging(targets: Targets, count: number): Promise<(i: number) => Target> {
  const half = Math.ceil(count / 2)
  const slow = await targets.openMany('slow', half, SLOW_MS)
  const silent = await targets.openMany('silent', half)
  return (i) => (i % 5 < 3 ? slow : silent)[Math.floor(i / 5) % half] as Target
}

async function mixed(targets: Targets, count: number): Promise<(i: number) => Target> {
  const opened: Target[] = []
  for (let i = 0; i < Math.max(count, KINDS.length); i++)
    opened.push(await targets.open(KINDS[i % KINDS.length] as TargetKind))
  return (i) => opened[i % opened.length] as Target
}

async function only(targets: Targets, kind: TargetKind): Promise<(i: number) => Target> {
  const target = await targets.open(kind)
  return () => target
}

interface Scenario {
  readonly nodes: number
  readonly broken: (targets: Targets) => Promise<(i: number) => Target>
}

const SCENARIOS: readonly (readonly [string, Scenario])[] = [1, 3].flatMap((nodes) => [
  [
    `1 target that takes 30 s and 1 that never answers, ${nodes} node(s)`,
    { nodes, broken: (all) => hanging(all, 1) },
  ],
  [`50 targets that hang, ${nodes} node(s)`, { nodes, broken: (all) => hanging(all, 50) }],
  [`50 targets broken in every way, ${nodes} node(s)`, { nodes, broken: (all) => mixed(all, 50) }],
  ...KINDS.map(
    (kind) =>
      [
        `1 target that is ${kind}, ${nodes} node(s)`,
        { nodes, broken: (all: Targets) => only(all, kind) },
      ] as const,
  ),
])

test.each(SCENARIOS)('beside %s', { timeout: 180_000 }, async (what, { nodes, broken }) => {
  const { url } = await createTestDatabase()
  const cluster = await Promise.all(Array.from({ length: nodes }, () => startBelfry(['--database-url', url])))
  const targets = startTargets()
  const healthy = await targets.open('healthy')
  const brokenOf = await broken(targets)

  const startAt = Date.now() + AHEAD_MS
  await createTasks(cluster[0] as Belfry, { healthy, brokenOf, startAt })
  const calls = await eventually(
    async () => {
      const measured = (await healthy.read()).calls.filter(({ dueAt }) => dueAt >= startAt)
      return measured.length === HEALTHY && measured
    },
    { withinMs: 120_000, everyMs: 200, otherwise: async () => (await healthy.read()).received },
  )

  const late = calls.map(({ at, dueAt }) => at - dueAt).sort((a, b) => a - b)
  const of = (share: number) => late[Math.ceil(share * late.length) - 1] as number
  const { mostUnderWay } = await targets.underWay()
  process.stdout.write(
    `  ${what}: late p50 ${of(0.5)}, p99 ${of(0.99)}, max ${of(1)} ms; most calls under way ${mostUnderWay}\n`,
  )
  expect(new Set(calls.map(({ runId }) => runId)).size).toBe(HEALTHY)
  expect(late[0]).toBeGreaterThanOrEqual(0)
  expect(of(0.99)).toBeLessThanOrEqual(PROMISED_P99_MS)
})

interface Wanted {
  readonly healthy: Target
  readonly brokenOf: (i: number) => Target
  readonly startAt: number
}

/** The default timeout, and nothing else set either. */
async function createTasks(node: Belfry, { healthy, brokenOf, startAt }: Wanted): Promise<void> {
  const task = (target: Target, at: number) => ({
    action: { type: 'webhook', url: `${target.url}/` },
    schedule: { type: 'once', at: new Date(at).toISOString() },
  })
  const brokenAt = startAt - HEAD_START_MS
  const evenly = (from: number, count: number) =>
    Array.from({ length: count }, (_, i) => task(healthy, from + (i * 1_000) / RATE))
  const tasks = [
    ...evenly(brokenAt - HEAD_START_MS - (WARM_UPS * 1_000) / RATE, WARM_UPS),
    ...Array.from({ length: BROKEN }, (_, i) => task(brokenOf(i), brokenAt)),
    ...evenly(startAt, HEALTHY),
  ]
  const { status, body } = await node.request('POST', '/v1/tasks/bulk', { tasks })
  if (status !== 201) throw new Error(`The tasks were refused: ${JSON.stringify(body)}`)
}
