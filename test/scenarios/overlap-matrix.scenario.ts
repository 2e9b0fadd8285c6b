/**
 * The overlap policies as a matrix under load: three nodes, tasks of every policy whose runs are shorter than, as long as and
 * longer than the time between them, triggers from all sides, and a node that dies in the middle of it. `npm run suite overlap` runs it.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { Client, type Wanted } from '../checker/client.ts'
import { expectSound } from '../checker/expect-sound.ts'
import { Nemesis } from '../checker/nemesis.ts'
import { recordChanges, untilEnded } from '../checker/observe.ts'
import { startSink } from '../checker/sink.ts'
import { seededRandom } from '../checker/workload.ts'
import { QUICK } from '../support/cadence.ts'
import { createTestDatabase } from '../support/database.ts'
import { startBelfry } from '../support/process.ts'

const { BELFRY_TEST_SEED = '1', BELFRY_TEST_TASKS = '4', BELFRY_TEST_SECONDS = '12' } = process.env
const POLICIES = ['allow', 'skip', 'queue_one', 'queue_all', 'cancel_previous'] as const
const INTERVAL_MS = 250
/** How long a run takes: less than the interval, as much, and a multiple of it. */
const DURATIONS_MS = [40, 250, 900]
const NODES = 3

test(`each policy keeps its promise on three nodes, one of which dies (seed ${BELFRY_TEST_SEED})`, {
  timeout: 600_000,
}, async () => {
  const random = seededRandom(Number(BELFRY_TEST_SEED))
  const { url } = await createTestDatabase()
  await recordChanges(url)
  const sink = await startSink()
  const start = () => startBelfry(['--database-url', url, '--concurrency', '80', ...QUICK])
  const nodes = await Promise.all(Array.from({ length: NODES }, start))
  const clients = nodes.map((node) => new Client(node.url))
  const [client] = clients as [Client, ...Client[]]
  const lengthMs = Number(BELFRY_TEST_SECONDS) * 1_000
  const from = Date.now() + 2_000
  const endAt = new Date(from + lengthMs).toISOString()
  const wanted = POLICIES.flatMap((overlap) =>
    DURATIONS_MS.flatMap((ms) =>
      Array.from({ length: Number(BELFRY_TEST_TASKS) }, (_, i): Wanted => {
        const key = `${overlap}/${ms}/${i}`
        return {
          key,
          body: {
            action: { type: 'webhook', url: sink.url(key, { ms: Math.round(ms * (0.8 + 0.4 * random())) }) },
            schedule: { type: 'every', interval: `${INTERVAL_MS}ms` },
            startAt: new Date(from + Math.floor(random() * INTERVAL_MS)).toISOString(),
            endAt,
            overlap,
          },
        }
      }),
    ),
  )
  await client.createTogether(wanted)

  // Whoever asks, and whichever node: triggers meet occurrences, and one another.
  const ids = client.accepted.map(({ id }) => id)
  const until = from + lengthMs
  const triggering = clients.map(async (asking) => {
    for (let n = 0; Date.now() < until; n++) {
      const id = ids[Math.floor(random() * ids.length)] ?? ''
      await asking.trigger(id, `${asking.url}-${n}`)
      await delay(random() * 40)
    }
  })
  await delay(Math.max(0, from + lengthMs / 2 - Date.now()))
  const victim = nodes[NODES - 1] as (typeof nodes)[number]
  const nemesis = new Nemesis(url)
  const over = nemesis.note('kill', [victim.pid], 15_000)
  victim.kill('SIGKILL')
  await victim.exited
  const successor = await start()
  ;(clients[NODES - 1] as Client).url = successor.url
  over()
  await Promise.all(triggering)
  await untilEnded(url, ids, { withinMs: 180_000 })

  const { history, changes } = await expectSound({
    ...{ url, client: clients, sink, faults: nemesis.faults, bounds: { stopMs: 15_000 } },
    mustSee: ['skips', 'reclaims', 'takeovers', 'repetitions'],
  })
  const ofPolicy = (policy: string) => {
    const tasks = new Set(client.idsOf(`${policy}/`))
    const rows = history.filter(({ taskId }) => tasks.has(taskId))
    const count = (isSo: (row: (typeof rows)[number]) => boolean) => rows.filter(isSo).length
    return {
      runs: rows.length,
      completed: count(({ state }) => state === 'completed'),
      skipped: count(({ state, reason }) => state === 'skipped' && reason !== 'misfire'),
      missed: count(({ reason }) => reason === 'misfire'),
      cancelled: count(({ state }) => state === 'cancelled'),
      triggered: count(({ kind }) => kind === 'manual'),
      waited: new Set(
        changes?.flatMap(({ to, taskId, runId }) => (to === 'held' && tasks.has(taskId) ? runId : [])),
      ).size,
    }
  }
  const seen = Object.fromEntries(POLICIES.map((policy) => [policy, ofPolicy(policy)]))
  process.stdout.write(
    Object.entries(seen)
      .map(([policy, counts]) => `  ${policy}: ${JSON.stringify(counts)}\n`)
      .join(''),
  )
  expect(seen['allow']).toMatchObject({ skipped: 0, cancelled: 0, waited: 0 })
  expect(seen['skip']).toMatchObject({ cancelled: 0, waited: 0, skipped: expect.any(Number) })
  expect(seen['queue_all']).toMatchObject({ cancelled: 0, skipped: 0 })
  for (const [policy, what] of [
    ...[['skip', 'skipped'] as const, ['queue_one', 'skipped'] as const, ['queue_one', 'waited'] as const],
    ...[['queue_all', 'waited'] as const, ['cancel_previous', 'cancelled'] as const],
    ...[['cancel_previous', 'waited'] as const, ['cancel_previous', 'skipped'] as const],
  ])
    expect(seen[policy]?.[what], `${policy}: ${what}`).toBeGreaterThan(0)
  for (const counts of Object.values(seen)) expect(counts.triggered).toBeGreaterThan(0)
})
