/**
 * A target that is up and down, in turn, as a week of deployments and outages would have it, compressed into minutes: what
 * its circuit saves, against tasks beside it that opted out. Both have their own target, which flap together.
 */
import { expect, test } from 'vitest'
import type { Database } from '../../src/store/database/database.ts'
import { sql } from '../../src/store/database/sql.ts'
import { callAll } from '../support/calling.ts'
import { createTestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { startBelfry } from '../support/process.ts'
import { startTargets, type Target, type TargetKind } from '../support/target-servers.ts'

/** How long each state lasts, and what the target does meanwhile. */
const WEEK: readonly (readonly [seconds: number, kind: TargetKind])[] = [
  [10, 'healthy'],
  [15, 'refuses'],
  [15, 'healthy'],
  [2, 'unavailable'],
  [10, 'healthy'],
  [25, 'resets'],
  [20, 'healthy'],
  [10, 'unavailable'],
  [20, 'healthy'],
]
const TASKS = 20
/** Each task is due every two seconds and tries each run up to four times within seconds. */
const FIELDS = {
  schedule: { type: 'every', interval: '2s' },
  overlap: 'allow',
  retry: { limit: 3, initial: '1s', max: '4s' },
}

interface Figures {
  readonly runs: number
  readonly attempts: number
  readonly burnt: number
  readonly failed: number
}

test('a circuit saves attempts that would fail because the target is down', {
  timeout: 600_000,
}, async () => {
  const { url, db } = await createTestDatabase()
  const node = await startBelfry(['--database-url', url])
  const targets = startTargets()
  const [guarded, unguarded] = [await targets.open('healthy'), await targets.open('healthy')]
  const ids = await callAll(node, guarded, TASKS, FIELDS)
  const optedOut = await callAll(node, unguarded, TASKS, { ...FIELDS, circuitBreaker: false })

  for (const [seconds, kind] of WEEK) await live([guarded, unguarded], kind, seconds)
  await Promise.all([...ids, ...optedOut].map((id) => node.request('POST', `/v1/tasks/${id}/pause`)))
  await eventually(async () => (await liveOf(db)) === 0, {
    withinMs: 400_000,
    otherwise: async () => ({
      live: await db.run(
        sql`select kind, state, attempt, side, wake_at, count(*) from agenda group by 1, 2, 3, 4, 5`,
      ),
      targets: (await node.request('GET', '/v1/targets')).body,
    }),
  })

  const [withCircuit, without] = [await figuresOf(db, ids), await figuresOf(db, optedOut)]
  tell('with a circuit   ', withCircuit)
  tell('without a circuit', without)
  expect(withCircuit.burnt).toBeLessThan(without.burnt / 2)
  expect(withCircuit.failed).toBeLessThan(without.failed / 2)
  expect(Math.abs(withCircuit.runs - without.runs)).toBeLessThanOrEqual(TASKS)
})

async function live(targets: readonly Target[], kind: TargetKind, seconds: number): Promise<void> {
  await Promise.all(targets.map((target) => target.behave(kind)))
  const until = performance.now() + seconds * 1_000
  await eventually(async () => performance.now() > until, { withinMs: seconds * 1_000 + 10_000 })
}

async function liveOf(db: Database): Promise<number> {
  const [row] = await db.run(sql<{ count: number }>`select count(*)::integer as count from agenda`)
  return row?.count ?? 0
}

async function figuresOf(db: Database, ids: readonly string[]): Promise<Figures> {
  const [row] = await db.run(sql<Figures>`
    select count(*)::integer as runs, sum(attempt)::integer as attempts,
           (sum(attempt) - count(*) filter (where state = 'completed'))::integer as burnt,
           (count(*) filter (where state = 'permanently_failed'))::integer as failed
    from run where task_id = any(${ids}::uuid[]) and started_at is not null`)
  return row as Figures
}

const tell = (what: string, { runs, attempts, burnt, failed }: Figures) =>
  process.stdout.write(
    `  ${what}: ${runs} runs, ${attempts} attempts, of them ${burnt} burnt; ${failed} runs failed permanently\n`,
  )
