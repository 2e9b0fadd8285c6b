/** A node is stopped in its tracks for longer than its lease and then goes on as if nothing had happened. */
import { expect, test } from 'vitest'
import { Client } from '../checker/client.ts'
import { expectSound } from '../checker/expect-sound.ts'
import { Nemesis } from '../checker/nemesis.ts'
import { ask, countEnded, observe, recordChanges } from '../checker/observe.ts'
import { startSink } from '../checker/sink.ts'
import { STEADY, within } from '../support/cadence.ts'
import { createTestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { startBelfry } from '../support/process.ts'

const HELD = 20
/** How long anything may take that only has to happen. */
const PATIENCE = { withinMs: within(60_000) }

test('another node performs the runs of a paused node, whose late reports change nothing', {
  timeout: within(240_000),
}, async () => {
  const { url } = await createTestDatabase()
  await recordChanges(url)
  const sink = await startSink()
  const sleeper = await startBelfry(['--database-url', url, ...STEADY])
  const client = new Client(sleeper.url)
  // The first delivery of each message is answered only when another node has done all of them.
  await client.create(
    Array.from({ length: HELD }, (_, i) => ({
      key: `held/${i}`,
      body: { action: { type: 'webhook', url: sink.url(`held/${i}`, { hold: 1 }) } },
    })),
  )
  await eventually(async () => sink.deliveries.length === HELD, PATIENCE)
  await startBelfry(['--database-url', url, ...STEADY])

  const nemesis = new Nemesis(url)
  const over = nemesis.note('pause', [sleeper.pid], within(30_000))
  sleeper.kill('SIGSTOP')
  await eventually(async () => (await countEnded(url, client.idsOf('held'))) === HELD, PATIENCE)
  const { history: before } = await observe(url)
  // When it wakes, the answers to all that it sent are there.
  sink.release('held', 1)
  sleeper.kill('SIGCONT')

  // It has been declared dead meanwhile: it says so and ends, and its outcomes are not written.
  await sleeper.said(/declared dead/, 'stderr')
  expect((await sleeper.exited).code).toBe(1)
  over()
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
