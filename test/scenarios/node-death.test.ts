/** One of two nodes dies with work in hand: the other notices by its silence alone, and does the work. */
import { expect, test } from 'vitest'
import { Client } from '../checker/client.ts'
import { expectSound } from '../checker/expect-sound.ts'
import { Nemesis } from '../checker/nemesis.ts'
import { ask, countEnded, recordChanges } from '../checker/observe.ts'
import { startSink } from '../checker/sink.ts'
import { REAPED_AFTER_MS, REAPED_WITHIN_MS, SHARDS_WITHIN_MS, within } from '../support/cadence.ts'
import { createTestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { startBelfry } from '../support/process.ts'

const HELD = 20

test('a living node takes over the runs of a dead one within the lease and one pass of the reaper', {
  timeout: within(240_000),
}, async () => {
  const { url } = await createTestDatabase()
  await recordChanges(url)
  const sink = await startSink()
  const victim = await startBelfry(['--database-url', url])
  const client = new Client(victim.url)
  // Half of them hold the last places of a key and of a queue: nothing starts again that does not come free.
  await client.limitQueue('narrow', HELD / 2)
  const gated = { queue: 'narrow', concurrencyKey: 'narrow', concurrencyLimit: HELD / 2 }
  // The first delivery of each message is never answered, so that it is in hand when its sender dies.
  await client.create(
    Array.from({ length: HELD }, (_, i) => ({
      key: `held/${i}`,
      body: {
        action: { type: 'webhook', url: sink.url(`held/${i}`, { hold: 1 }) },
        ...(i % 2 === 0 ? gated : {}),
      },
    })),
  )
  await eventually(async () => sink.deliveries.length === HELD)
  const successor = await startBelfry(['--database-url', url])

  const nemesis = new Nemesis(url)
  const over = nemesis.note('kill', [victim.pid], REAPED_WITHIN_MS)
  victim.kill('SIGKILL')
  const killedAt = performance.now()
  await victim.exited
  over()
  client.url = successor.url
  // Work that is due meanwhile waits until the shards of the dead are taken, and no longer.
  await client.create(
    Array.from({ length: HELD }, (_, i) => ({
      key: `fresh/${i}`,
      body: { action: { type: 'sleep', duration: '0s' } },
    })),
  )
  const fresh = client.idsOf('fresh')
  await eventually(async () => (await countEnded(url, fresh)) === HELD, { withinMs: within(60_000) })
  const shardsAfterMs = performance.now() - killedAt
  const held = client.idsOf('held')
  await eventually(async () => (await countEnded(url, held)) === HELD, { withinMs: within(60_000) })
  const doneAfterMs = performance.now() - killedAt

  process.stdout.write(
    `  killed node: new work after ${(shardsAfterMs / 1000).toFixed(1)} s, ` +
      `its ${HELD} runs done by another after ${(doneAfterMs / 1000).toFixed(1)} s\n`,
  )
  const { history } = await expectSound({
    ...{ url, client, sink, faults: nemesis.faults },
    mustSee: ['reclaims', 'repetitions', 'takeovers'],
  })
  const rows = history.filter(({ taskId }) => held.includes(taskId))
  expect(rows.map(({ state, attempt, losses }) => ({ state, attempt, losses }))).toEqual(
    held.map(() => ({ state: 'completed', attempt: 2, losses: 1 })),
  )
  expect(sink.deliveries).toHaveLength(2 * HELD)
  expect(await ask(url, 'select queue, key, held from gate where held <> 0')).toEqual([])
  expect(await ask(url, 'select reason from node where dead_at is not null')).toEqual([{ reason: 'lost' }])
  expect(shardsAfterMs).toBeLessThan(SHARDS_WITHIN_MS)
  expect(doneAfterMs).toBeGreaterThan(REAPED_AFTER_MS)
  expect(doneAfterMs).toBeLessThan(REAPED_WITHIN_MS)
})
