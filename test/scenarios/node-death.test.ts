/** One of two nodes dies with work in hand: the other notices by its silence alone, and does the work. */
import { expect, test } from 'vitest'
import { REAPED_AFTER_MS, REAPED_WITHIN_MS, SHARDS_WITHIN_MS, within } from '../support/cadence.ts'
import { createTestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { ask, doubledOccurrences, ledgerOf } from '../support/load.ts'
import { type Belfry, startBelfry } from '../support/process.ts'
import { startSlowSink } from '../support/slow-sink.ts'

const HELD = 20
const NEVER_MS = 3_600_000

test('a dead node loses its runs to a living one, within 20 s with default settings', {
  timeout: within(90_000),
}, async () => {
  const { url } = await createTestDatabase()
  // The first delivery of each message is never answered, so that it is in hand when its sender dies.
  const sink = await startSlowSink((count) => (count <= HELD ? NEVER_MS : 0))
  const victim = await startBelfry(['--database-url', url])
  // Half of them hold the last places of a key and of a queue: nothing starts again that does not come free.
  await victim.request('PATCH', '/v1/queues/narrow', { concurrencyLimit: HELD / 2 })
  const gated = { queue: 'narrow', concurrencyKey: 'narrow', concurrencyLimit: HELD / 2 }
  const action = { type: 'webhook', url: sink.url }
  const ids = [
    ...(await create(victim, HELD / 2, action)),
    ...(await create(victim, HELD / 2, action, gated)),
  ]
  await eventually(async () => sink.deliveries.length === HELD)
  const heir = await startBelfry(['--database-url', url])

  victim.kill('SIGKILL')
  const killedAt = performance.now()
  await victim.exited
  // Work that is due meanwhile waits until the shards of the dead are taken, and no longer.
  const fresh = await create(heir, HELD, { type: 'sleep', duration: '0s' })
  await eventually(async () => (await ledgerOf(url, fresh)).length === HELD, { withinMs: within(10_000) })
  const shardsAfterMs = performance.now() - killedAt
  await eventually(async () => (await ledgerOf(url, ids)).length === HELD, { withinMs: within(40_000) })
  const doneAfterMs = performance.now() - killedAt

  process.stdout.write(
    `  killed node: new work after ${(shardsAfterMs / 1000).toFixed(1)} s, ` +
      `its ${HELD} runs done by another after ${(doneAfterMs / 1000).toFixed(1)} s\n`,
  )
  const rows = await ledgerOf(url, ids)
  expect(rows.map(({ state, attempt, losses }) => ({ state, attempt, losses }))).toEqual(
    ids.map(() => ({ state: 'completed', attempt: 2, losses: 1 })),
  )
  expect(await doubledOccurrences(url)).toEqual([])
  expect(sink.deliveries).toHaveLength(2 * HELD)
  for (const taskId of ids) {
    const [first, second] = sink.deliveries.filter((delivery) => delivery.taskId === taskId)
    expect(second?.messageId).toBe(first?.messageId)
    expect(second?.fence).toBeGreaterThan(first?.fence ?? 0)
  }
  expect(await ask(url, 'select queue, key, held from gate where held <> 0')).toEqual([])
  expect(await ask(url, 'select reason from node where dead_at is not null')).toEqual([{ reason: 'lost' }])
  expect(shardsAfterMs).toBeLessThan(SHARDS_WITHIN_MS)
  expect(doneAfterMs).toBeGreaterThan(REAPED_AFTER_MS)
  expect(doneAfterMs).toBeLessThan(REAPED_WITHIN_MS)
})

async function create(belfry: Belfry, count: number, action: object, more: object = {}): Promise<string[]> {
  const answers = await Promise.all(
    Array.from({ length: count }, () => belfry.request('POST', '/v1/tasks', { action, ...more })),
  )
  return answers.map(({ body }) => body.id)
}
