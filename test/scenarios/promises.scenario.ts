/** Figures that are promised, asserted as promised: this suite runs alone. `npm test` shares its machine and allows more. */
import { connect } from 'node:net'
import { expect, test } from 'vitest'
import { Client } from '../checker/client.ts'
import { expectSound } from '../checker/expect-sound.ts'
import { Nemesis } from '../checker/nemesis.ts'
import { ask, countEnded, recordChanges } from '../checker/observe.ts'
import { startSink } from '../checker/sink.ts'
import { createTestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { startBelfry } from '../support/process.ts'
import { aWorker } from '../support/remote-worker.ts'
import { TEST_KEY } from '../support/vault.ts'

const DUE = 1_000
const IN_FLIGHT = 500
/** A dead worker's runs start elsewhere within this. */
const TAKEN_BACK_MS = 20_000
/** And after it they are worked off. */
const WORKED_OFF_MS = 10_000
const CANCELLED_MS = 5_000
const REFUSED_MS = 1_000
/** The default of --shutdown-grace-ms. */
const STOPPED_MS = 30_000

const tell = (text: string) => process.stdout.write(`  ${text}\n`)

test(`kill -9 of one of two nodes amid ${DUE} due runs`, { timeout: 240_000 }, async () => {
  const { url } = await createTestDatabase()
  await recordChanges(url)
  const sink = await startSink()
  const [victim, successor] = [
    await startBelfry(['--database-url', url]),
    await startBelfry(['--database-url', url]),
  ]
  const client = new Client(victim.url)
  const at = new Date(Date.now() + 5_000).toISOString()
  await client.createTogether(
    Array.from({ length: DUE }, (_, i) => ({
      key: `due/${i}`,
      body: { action: { type: 'webhook', url: sink.url(`due/${i}`) }, schedule: { type: 'once', at } },
    })),
  )
  await eventually(async () => sink.deliveries.length > DUE / 10)

  const nemesis = new Nemesis(url)
  const over = nemesis.note('kill', [victim.pid], TAKEN_BACK_MS + WORKED_OFF_MS)
  victim.kill('SIGKILL')
  const killedAt = performance.now()
  await victim.exited
  over()
  client.url = successor.url
  const ids = client.idsOf('due')
  await eventually(async () => (await countEnded(url, ids)) === DUE, { withinMs: 120_000 })
  const tookMs = performance.now() - killedAt

  tell(`all ${DUE} ended ${(tookMs / 1000).toFixed(1)} s after the kill`)
  await expectSound({ url, client, sink, faults: nemesis.faults, mustSee: ['takeovers'] })
  expect(tookMs).toBeLessThan(TAKEN_BACK_MS + WORKED_OFF_MS)
})

test(`kill -9 of a node with ${IN_FLIGHT} calls in flight`, { timeout: 240_000 }, async () => {
  const { url } = await createTestDatabase()
  // A node makes at most 128 calls to one target at once.
  const sinks = [await startSink(), await startSink(), await startSink(), await startSink()] as const
  const delivered = () => sinks.reduce((sum, { deliveries }) => sum + deliveries.length, 0)
  const more = ['--database-url', url, '--concurrency', String(IN_FLIGHT)]
  const victim = await startBelfry(more)
  const client = new Client(victim.url)
  await client.createTogether(
    Array.from({ length: IN_FLIGHT }, (_, i) => ({
      key: `held/${i}`,
      body: {
        action: { type: 'webhook', url: sinks[(i % 4) as 0 | 1 | 2 | 3].url(`held/${i}`, { hold: 1 }) },
      },
    })),
  )
  await eventually(async () => delivered() === IN_FLIGHT, {
    otherwise: async () => ({
      deliveries: delivered(),
      live: await ask(url, 'select state, attempt, count(*) from agenda group by 1, 2'),
    }),
  })
  const successor = await startBelfry(more)

  victim.kill('SIGKILL')
  const killedAt = performance.now()
  client.url = successor.url
  await eventually(async () => delivered() > IN_FLIGHT, { withinMs: 120_000 })
  const startedMs = performance.now() - killedAt
  await eventually(async () => (await countEnded(url, client.idsOf('held'))) === IN_FLIGHT, {
    otherwise: async () => ({
      deliveries: delivered(),
      live: await ask(url, 'select state, attempt, count(*) from agenda group by 1, 2'),
    }),
  })
  const endedMs = performance.now() - killedAt

  tell(
    `the first of ${IN_FLIGHT} started again after ${(startedMs / 1000).toFixed(1)} s, all had ended after ${(endedMs / 1000).toFixed(1)} s`,
  )
  expect(startedMs).toBeLessThan(TAKEN_BACK_MS)
  expect(endedMs).toBeLessThan(TAKEN_BACK_MS + WORKED_OFF_MS)
  expect(delivered()).toBe(2 * IN_FLIGHT)
})

test('a program whose own heartbeats stop is started elsewhere, although its worker lives', {
  timeout: 120_000,
}, async () => {
  const { url } = await createTestDatabase()
  // The node itself runs no programs, so that the worker is given this one.
  const args = ['--database-url', url, '--exec', 'off']
  const node = await startBelfry(args, { env: { BELFRY_SECRETS_KEY: TEST_KEY } })
  const { body: task } = await node.request('POST', '/task/create', {})
  const { body: signed } = await node.request('POST', '/signurl/create', { id: task.id })
  await fetch(signed.url, { method: 'PUT', body: '#!/bin/sh\n' })
  const worker = await aWorker(node.url, { actions: ['exec'], version: '0.2.0', labels: [] })
  const living = setInterval(() => void worker.say('heartbeat', {}), 1_000)
  const [run] = await worker.claim(1)
  const beat = () =>
    node.request('POST', '/health_check', {}, { authorization: `Bearer ${run?.program?.attemptToken}` })

  await beat()
  const lastBeatAt = performance.now()
  const [again] = await worker.claim(1)
  const startedMs = performance.now() - lastBeatAt
  const late = await beat()
  clearInterval(living)

  tell(`started again ${(startedMs / 1000).toFixed(1)} s after its last heartbeat`)
  expect(again).toMatchObject({ runId: run?.runId, attempt: 2 })
  expect(startedMs).toBeLessThan(TAKEN_BACK_MS)
  expect(late.status).toBe(410)
})

test('a cancel reaches a call that is under way on another node', async () => {
  const { url } = await createTestDatabase()
  const sink = await startSink()
  const api = await startBelfry(['--database-url', url, '--roles', 'api,scheduler,liveness'])
  await startBelfry(['--database-url', url, '--roles', 'worker', '--private-addresses', 'allow'])
  const action = { type: 'webhook', url: sink.url('held', { hold: 1 }) }
  const { body: task } = await api.request('POST', '/v1/tasks', { action })
  await eventually(async () => sink.deliveries.length === 1)
  const { body: runs } = await api.request('GET', `/v1/tasks/${task.id}/runs`)
  const runId = runs.items[0].id

  const askedAt = performance.now()
  await api.request('POST', `/v1/runs/${runId}/cancel`)
  const run = await eventually(async () => {
    const { body } = await api.request('GET', `/v1/runs/${runId}`)
    return body.endedAt && body
  })
  const tookMs = performance.now() - askedAt

  tell(`cancelled after ${Math.round(tookMs)} ms`)
  expect(run.state).toBe('cancelled')
  expect(tookMs).toBeLessThan(CANCELLED_MS)
})

test('a node with calls in flight stops within the grace period after SIGTERM', async () => {
  const { url } = await createTestDatabase()
  const sink = await startSink()
  const belfry = await startBelfry(['--database-url', url])
  const action = (i: number) => ({ type: 'webhook', url: sink.url(`stopped/${i}`, { ms: 1_000 }) })
  const tasks = Array.from({ length: IN_FLIGHT }, (_, i) => ({ action: action(i) }))
  await belfry.request('POST', '/v1/tasks/bulk', { tasks })
  await eventually(async () => sink.deliveries.length > 0)

  belfry.kill('SIGTERM')
  const askedAt = performance.now()
  const { code } = await belfry.exited
  const tookMs = performance.now() - askedAt

  tell(`stopped after ${Math.round(tookMs)} ms`)
  expect(code).toBe(0)
  expect(tookMs).toBeLessThan(STOPPED_MS)
})

test.each([
  [
    'ten thousand tasks without an action',
    '/v1/tasks/bulk',
    JSON.stringify({ tasks: Array(10_000).fill({}) }),
  ],
  ['a schedule of a million characters', '/v1/tasks', JSON.stringify({ schedule: '*'.repeat(1_000_000) })],
  ['a body that nests without end', '/v1/tasks', '['.repeat(500_000)],
  ['a body that is not JSON', '/v1/tasks/bulk', 'x'.repeat(20 * 1024 * 1024)],
])('%s is refused in time', async (_, path, body) => {
  const { url } = await createTestDatabase()
  const belfry = await startBelfry(['--database-url', url])

  const askedAt = performance.now()
  const status = await statusOf(belfry.url, path, body)
  const tookMs = performance.now() - askedAt

  tell(`${status} after ${Math.round(tookMs)} ms`)
  expect(status).toBeGreaterThanOrEqual(400)
  expect(status).toBeLessThan(500)
  expect(tookMs).toBeLessThan(REFUSED_MS)
})

/** The status of the answer, also when it comes before all of the body was sent. */
function statusOf(server: string, path: string, body: string): Promise<number> {
  const { hostname, port, host } = new URL(server)
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname)
    socket.once('data', (chunk) => {
      resolve(Number(/^HTTP\/1\.1 (\d+)/.exec(String(chunk))?.[1]))
      socket.destroy()
    })
    socket.once('error', reject)
    socket.write(
      `POST ${path} HTTP/1.1\r\nhost: ${host}\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
    )
  })
}
