/** The last release and this build share a database, as they do for as long as an upgrade takes. */
import { expect, test } from 'vitest'
import { Client } from '../checker/client.ts'
import { expectSound } from '../checker/expect-sound.ts'
import { Nemesis } from '../checker/nemesis.ts'
import { recordChanges, untilEnded } from '../checker/observe.ts'
import { startSink } from '../checker/sink.ts'
import { createTestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { runBelfry, startBelfry } from '../support/process.ts'

const TASKS = 20
const program = process.env['BELFRY_TEST_RELEASE']
if (program === undefined) throw new Error('npm run suite upgrade builds the release and names it.')

test('an upgrade with both versions side by side loses and repeats no run', async () => {
  const { url } = await createTestDatabase({ empty: true })
  expect((await runBelfry(['migrate', '--database-url', url], { program })).code).toBe(0)
  await recordChanges(url)
  const old = await startBelfry(['--database-url', url], { program })
  const sink = await startSink()
  const client = new Client(old.url)
  const seen = (more: number) => {
    const before = sink.deliveries.length
    return eventually(async () => sink.deliveries.length > before + more)
  }
  await client.createTogether(
    Array.from({ length: TASKS }, (_, i) => ({
      key: `tick/${i}`,
      body: {
        name: `t${i}`,
        action: { type: 'webhook', url: sink.url(`tick/${i}`) },
        schedule: { type: 'every', interval: '200ms' },
        overlap: 'allow',
      },
    })),
  )
  await seen(TASKS * 5)
  const nemesis = new Nemesis(url)

  const fresh = await startBelfry(['--database-url', url])
  // Both own shards now, and both fire.
  await seen(TASKS * 25)
  expect((await old.request('GET', '/readyz')).status).toBe(200)
  const over = nemesis.note('stop', [old.pid], 30_000)
  old.kill('SIGTERM')
  expect((await old.exited).code).toBe(0)
  over()
  await seen(TASKS * 10)

  client.url = fresh.url
  await Promise.all(client.idsOf('tick').map((id) => client.change('cancel_task', id)))
  await untilEnded(url, client.idsOf('tick'), { withinMs: 60_000 })
  const { history } = await expectSound({ url, client, sink, faults: nemesis.faults, mustSee: ['takeovers'] })
  expect(history.filter(({ losses, attempt }) => losses > 0 || attempt > 1)).toEqual([])
})
