/** Every node is replaced, one after the other, while tasks come due all the time: nobody outside notices. */
import { expect, test } from 'vitest'
import { Client } from '../checker/client.ts'
import { expectSound } from '../checker/expect-sound.ts'
import { Nemesis } from '../checker/nemesis.ts'
import { recordChanges, untilEnded } from '../checker/observe.ts'
import { startSink } from '../checker/sink.ts'
import { within } from '../support/cadence.ts'
import { createTestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { type Belfry, startBelfry } from '../support/process.ts'

const TASKS = 20
const INTERVAL_MS = 200

test('a rolling restart of all nodes under load loses and repeats no run', {
  timeout: 3 * within(90_000),
}, async () => {
  const { url } = await createTestDatabase()
  await recordChanges(url)
  const sink = await startSink()
  const nodes: Belfry[] = [
    await startBelfry(['--database-url', url]),
    await startBelfry(['--database-url', url]),
  ]
  const client = new Client((nodes[0] as Belfry).url)
  await client.createTogether(
    Array.from({ length: TASKS }, (_, i) => ({
      key: `tick/${i}`,
      body: {
        name: `t${i}`,
        action: { type: 'webhook', url: sink.url(`tick/${i}`) },
        schedule: { type: 'every', interval: `${INTERVAL_MS}ms` },
        overlap: 'allow',
      },
    })),
  )
  await eventually(async () => sink.deliveries.length > TASKS * 5, { withinMs: within(60_000) })

  const nemesis = new Nemesis(url)
  for (let i = 0; i < 2; i++) {
    const replacement = await startBelfry(['--database-url', url])
    const old = nodes.shift() as Belfry
    const over = nemesis.note('stop', [old.pid], within(30_000))
    old.kill('SIGTERM')
    expect((await old.exited).code).toBe(0)
    over()
    nodes.push(replacement)
    const before = sink.deliveries.length
    await eventually(async () => sink.deliveries.length > before + TASKS * 5, { withinMs: within(60_000) })
  }
  client.url = (nodes[0] as Belfry).url
  await Promise.all(client.idsOf('tick').map((id) => client.change('cancel_task', id)))
  await untilEnded(url, client.idsOf('tick'), { withinMs: within(60_000) })

  const { history } = await expectSound({ url, client, sink, faults: nemesis.faults, mustSee: ['takeovers'] })
  const states = new Set(history.map(({ state }) => state))
  expect([...states].filter((state) => !['completed', 'cancelled', 'skipped'].includes(state))).toEqual([])
  expect(history.filter(({ losses, attempt }) => losses > 0 || attempt > 1)).toEqual([])
})
