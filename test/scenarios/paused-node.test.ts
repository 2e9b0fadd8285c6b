/** A node is stopped in its tracks for longer than its lease and then goes on as if nothing had happened. */
import { expect, test } from 'vitest'
import { QUICK, REAPED_WITHIN_MS, within } from '../support/cadence.ts'
import { createTestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { ask, doubledOccurrences, ledgerOf } from '../support/load.ts'
import { startBelfry } from '../support/process.ts'
import { startSlowSink } from '../support/slow-sink.ts'

const HELD = 20
const ANSWER_MS = QUICK.length > 0 ? 4_000 : REAPED_WITHIN_MS

test('what a paused node held is done by another, and nothing it says on waking changes that', {
  timeout: within(60_000),
}, async () => {
  const { url } = await createTestDatabase()
  // The first delivery of each message is answered only after its sender was declared dead.
  const sink = await startSlowSink((count) => (count <= HELD ? ANSWER_MS : 0))
  const sleeper = await startBelfry(['--database-url', url, ...QUICK])
  const answers = await Promise.all(
    Array.from({ length: HELD }, () =>
      sleeper.request('POST', '/v1/tasks', { action: { type: 'webhook', url: sink.url } }),
    ),
  )
  const ids = answers.map(({ body }) => body.id)
  await eventually(async () => sink.deliveries.length === HELD)
  await startBelfry(['--database-url', url, ...QUICK])

  sleeper.kill('SIGSTOP')
  await eventually(async () => (await ledgerOf(url, ids)).length === HELD, { withinMs: within(20_000) })
  const before = await ledgerOf(url, ids)
  sleeper.kill('SIGCONT')

  // It has been declared dead meanwhile: it says so and ends, and its outcomes are not written.
  expect((await sleeper.exited).code).toBe(1)
  expect(sleeper.stderr).toContain('declared dead')
  expect(await ledgerOf(url, ids)).toEqual(before)
  expect(before.map(({ state, attempt, losses }) => ({ state, attempt, losses }))).toEqual(
    ids.map(() => ({ state: 'completed', attempt: 2, losses: 1 })),
  )
  expect(await doubledOccurrences(url)).toEqual([])
  expect(await ask(url, 'select count(*)::int as left from agenda')).toEqual([{ left: 0 }])
})
