/** A node is stopped in its tracks for longer than its lease and then goes on as if nothing had happened. */
import { expect, test } from 'vitest'
import { Client } from '../checker/client.ts'
import { expectSound } from '../checker/expect-sound.ts'
import { Nemesis } from '../checker/nemesis.ts'
import { ask, countEnded, observe, recordChanges } from '../checker/observe.ts'
import { startSink } from '../checker/sink.ts'
import { QUICK, REAPED_WITHIN_MS, within } from '../support/cadence.ts'
import { createTestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { startBelfry } from '../support/process.ts'

const HELD = 20
const ANSWER_MS = QUICK.length > 0 ? 4_000 : REAPED_WITHIN_MS

test('what a paused node held is done by another, and nothing it says on waking changes that', {
  timeout: within(120_000),
}, async () => {
  const { url } = await createTestDatabase()
  await recordChanges(url)
  const sink = await startSink()
  const sleeper = await startBelfry(['--database-url', url, ...QUICK])
  const client = new Client(sleeper.url)
  // The first delivery of each message is answered only after its sender was declared dead.
  await client.create(
    Array.from({ length: HELD }, (_, i) => ({
      key: `held/${i}`,
      body: { action: { type: 'webhook', url: sink.url(`held/${i}`, { first: ANSWER_MS }) } },
    })),
  )
  await eventually(async () => sink.deliveries.length === HELD)
  await startBelfry(['--database-url', url, ...QUICK])

  const nemesis = new Nemesis(url)
  const over = nemesis.note('pause', [sleeper.pid], within(5_000))
  sleeper.kill('SIGSTOP')
  await eventually(async () => (await countEnded(url, client.idsOf('held'))) === HELD, {
    withinMs: within(20_000),
  })
  const { history: before } = await observe(url)
  sleeper.kill('SIGCONT')

  // It has been declared dead meanwhile: it says so and ends, and its outcomes are not written.
  expect((await sleeper.exited).code).toBe(1)
  over()
  expect(sleeper.stderr).toContain('declared dead')
  const { history } = await expectSound({
    ...{ url, client, sink, faults: nemesis.faults },
    mustSee: ['reclaims', 'repetitions'],
  })
  expect(history).toEqual(before)
  expect(history.map(({ state, attempt, losses }) => ({ state, attempt, losses }))).toEqual(
    client.accepted.map(() => ({ state: 'completed', attempt: 2, losses: 1 })),
  )
  expect(await ask(url, 'select count(*)::int as left from agenda')).toEqual([{ left: 0 }])
})
