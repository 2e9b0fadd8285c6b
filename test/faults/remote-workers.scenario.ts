/**
 * Workers of the users' own under `kill -9` of themselves and of the node they speak to, each a process of its own:
 * every run is performed, its end is written once, and what ran twice was in the hands of who died.
 */
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { Client, type Wanted } from '../checker/client.ts'
import { expectSound } from '../checker/expect-sound.ts'
import { Nemesis } from '../checker/nemesis.ts'
import { ask, countEnded, recordChanges, untilEnded } from '../checker/observe.ts'
import { type Sink, startSink } from '../checker/sink.ts'
import { STEADY, within } from '../support/cadence.ts'
import { createTestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { type Launched, launch, startBelfry } from '../support/process.ts'

const PROGRAM = fileURLToPath(new URL('../support/handler-worker.mjs', import.meta.url))
const EXAMPLE = fileURLToPath(new URL('../../examples/worker.mjs', import.meta.url))

/** By then what a fault has held up must have begun. */
const RECOVERY_MS = within(60_000)

async function aWorker(concurrency: number, ...servers: readonly string[]): Promise<Launched> {
  const worker = launch([String(concurrency), ...servers], { program: PROGRAM })
  await worker.said(/Ready\./)
  return worker
}

/** Runs in the hands of a worker that dies. */
const HELD = 200

const deliveries = (sink: Sink, count: number, behaviour: Record<string, number>): Wanted[] =>
  Array.from({ length: count }, (_, n) => ({
    key: `deliver/${n}`,
    body: {
      action: {
        type: 'handler',
        name: 'deliver',
        payload: { url: sink.url(`deliver/${n}`, behaviour) },
      },
    },
  }))

const isRunning = (url: string) =>
  ask<{ count: number }>(url, "select count(*)::integer as count from agenda where state = 'running'")

test('every run of a worker that is killed with 200 runs is finished once, by another worker', {
  timeout: within(240_000),
}, async () => {
  const { url } = await createTestDatabase()
  await recordChanges(url)
  const sink = await startSink()
  const node = await startBelfry(['--database-url', url, ...STEADY])
  const doomed = await aWorker(HELD, node.url)
  const client = new Client(node.url)
  // The first delivery of each message is answered only when its sender has long been dead.
  await client.createTogether(deliveries(sink, HELD, { first: 600_000 }))
  await eventually(async () => sink.deliveries.length === HELD, { withinMs: within(60_000) })
  expect(await isRunning(url)).toEqual([{ count: HELD }])

  const nemesis = new Nemesis(url)
  const over = nemesis.note('kill', [doomed.pid], RECOVERY_MS)
  const following = await Promise.all([aWorker(100, node.url), aWorker(100, node.url)])
  doomed.kill('SIGKILL')
  await doomed.exited
  over()
  await untilEnded(url, client.idsOf('deliver'), { withinMs: within(60_000) })

  const { history } = await expectSound({
    ...{ url, client, sink, faults: nemesis.faults },
    mustSee: ['reclaims', 'repetitions'],
  })
  expect(history).toHaveLength(HELD)
  for (const row of history)
    expect(row).toMatchObject({ state: 'completed', outcome: 'completed', attempt: 2, losses: 1 })
  expect(new Set(history.map(({ workerId }) => workerId)).size).toBe(2)
  for (const successor of following) successor.kill('SIGTERM')
  expect((await Promise.all(following.map(({ exited }) => exited))).map(({ code }) => code)).toEqual([0, 0])
})

test('a worker survives the death and return of its node, and no run is lost', {
  timeout: within(240_000),
}, async () => {
  const { url } = await createTestDatabase()
  await recordChanges(url)
  const sink = await startSink()
  const engine = await startBelfry(['--database-url', url, '--roles', 'api,scheduler,liveness'])
  const first = await startBelfry(['--database-url', url, '--roles', 'api'])
  const port = new URL(first.url).port
  const worker = await aWorker(50, first.url)
  const client = new Client(engine.url)
  await client.createTogether(deliveries(sink, 400, { ms: 100 }))
  await eventually(async () => (await countEnded(url, client.idsOf('deliver'))) > 50, { everyMs: 5 })

  const nemesis = new Nemesis(url)
  const over = nemesis.note('kill', [first.pid], RECOVERY_MS)
  first.kill('SIGKILL')
  await first.exited
  const before = sink.deliveries.length
  const second = await startBelfry(['--database-url', url, '--roles', 'api', '--port', port])
  over()
  expect(second.url).toBe(first.url)
  await untilEnded(url, client.idsOf('deliver'), { withinMs: within(60_000) })

  const { history } = await expectSound({ ...{ url, client, sink, faults: nemesis.faults } })
  expect(sink.deliveries.length).toBeGreaterThan(before)
  expect(history).toHaveLength(400)
  // The same incarnation did all of it, and performed nothing twice.
  for (const row of history) expect(row).toMatchObject({ state: 'completed', attempt: 1, losses: 0 })
  expect(new Set(history.map(({ workerId }) => workerId)).size).toBe(1)
  expect(sink.deliveries).toHaveLength(400)
  worker.kill('SIGTERM')
  expect((await worker.exited).code).toBe(0)
})

test('a handler that blocks its process keeps its lease, any node answers, and a cancel arrives in time', {
  timeout: within(240_000),
}, async () => {
  const { url } = await createTestDatabase()
  const sink = await startSink()
  const nodes = await Promise.all([
    startBelfry(['--database-url', url, ...STEADY]),
    startBelfry(['--database-url', url, '--roles', 'api', ...STEADY]),
  ])
  const servers = nodes.map((node) => node.url)
  const worker = await aWorker(5, ...servers)
  const client = new Client(servers[1] ?? '')
  await client.create(deliveries(sink, 2, { ms: 7_500 }))
  await eventually(async () => sink.deliveries.length === 2)

  // Longer than the lease.
  const action = { type: 'handler', name: 'block', payload: { ms: 7_000 } }
  await client.create([{ key: 'block', body: { action } as Wanted['body'] }])
  await untilEnded(
    url,
    client.accepted.map(({ id }) => id),
    { withinMs: within(60_000) },
  )

  const { history } = await expectSound({ ...{ url, client, sink, faults: [] } })
  expect(history).toHaveLength(3)
  for (const row of history) expect(row).toMatchObject({ state: 'completed', attempt: 1, losses: 0 })

  const [any, other] = nodes
  const endless = { type: 'handler', name: 'deliver', payload: { url: sink.url('endless', { ms: 600_000 }) } }
  const task = (await any.request('POST', '/v1/tasks', { action: endless })).body
  await eventually(async () => sink.deliveries.length === 3, { withinMs: within(60_000) })
  const [run] = (await other.request('GET', `/v1/tasks/${task.id}/runs`)).body.items
  const cancelledAt = performance.now()
  await other.request('POST', `/v1/runs/${run.id}/cancel`)
  await worker.said(new RegExp(`stopped ${run.id} cancelled`))
  expect(performance.now() - cancelledAt).toBeLessThan(within(30_000))
  await untilEnded(url, [task.id], { withinMs: within(60_000) })
  expect((await any.request('GET', `/v1/runs/${run.id}`)).body).toMatchObject({ state: 'cancelled' })
  worker.kill('SIGTERM')
  expect((await worker.exited).code).toBe(0)
})

test('the example in the repository does what the README says', async () => {
  const { url } = await createTestDatabase()
  const node = await startBelfry(['--database-url', url])
  const example = launch([], { program: EXAMPLE, env: { BELFRY_URL: node.url } })
  await example.said(/provides greet/, 'stderr')

  const action = { type: 'handler', name: 'greet', payload: { name: 'Ada' } }
  const { body: task } = await node.request('POST', '/v1/tasks', { action })
  const run = await eventually(async () => {
    const { body } = await node.request('GET', `/v1/tasks/${task.id}/runs`)
    return body.items[0]?.endedAt ? body.items[0] : undefined
  })

  expect(run).toMatchObject({ state: 'completed', output: { result: 'Hello, Ada!' } })
  example.kill('SIGTERM')
  expect((await example.exited).code).toBe(0)
})
