/** The worker of the package without a connection: what becomes of its runs, and of itself. */
import { expect, test } from 'vitest'
import { Worker } from '../../src/sdk/worker.ts'
import { createTestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { startTestNode } from '../support/node.ts'
import { startProxy } from '../support/proxy.ts'
import { aName, aWorker, runWhen, untilAborted } from './support.ts'

/** Beats are short here, so that what follows from their absence is seen within seconds. */
const node = await startTestNode(await createTestDatabase(), {
  heartbeatMs: 300,
  leaseMs: 3_000,
  reaperMs: 300,
})

test('a disconnected worker stops its runs before they are reclaimed, and resumes when reconnected', async () => {
  const name = aName()
  const proxy = await startProxy(node.url)
  const stopped: { reason: unknown; at: number }[] = []
  let calls = 0
  const worker = await aWorker(proxy.url, {
    [name]: async (_, ctx) => {
      if (++calls > 1) return 'the second time'
      await untilAborted(ctx).catch((reason) => {
        stopped.push({ reason, at: Date.now() })
        throw reason
      })
      return 'never'
    },
  })
  const id = worker.id
  const { body: task } = await node.request('POST', '/v1/tasks', { action: { type: 'handler', name } })
  await eventually(async () => calls === 1)

  proxy.cut()
  await eventually(async () => stopped.length > 0)
  const lost = await runWhen(node, task.id, ({ losses }) => losses === 1)
  proxy.mend()

  const [attempt] = lost.attempts
  expect(stopped[0]?.reason).toMatchObject({ why: 'lease_lost' })
  expect(stopped[0]?.at).toBeLessThan(Date.parse(attempt.endedAt))
  const finished = await runWhen(node, task.id, ({ endedAt }) => endedAt !== null)
  expect(finished).toMatchObject({ state: 'completed', output: { result: 'the second time' } })
  expect(worker.id).not.toBe(id)
})

test('a disconnected worker can be stopped', async () => {
  const proxy = await startProxy(node.url)
  const name = aName()
  let release: (() => void) | undefined
  const worker = await aWorker(proxy.url, {
    [name]: () =>
      new Promise<void>((resolve) => {
        release = resolve
      }),
  })
  const { body: task } = await node.request('POST', '/v1/tasks', { action: { type: 'handler', name } })
  const finish = await eventually(async () => release)

  proxy.cut()
  finish()
  await worker.stop()

  // What it could not report is taken from it, as from the dead.
  const lost = await runWhen(node, task.id, ({ losses }) => losses === 1)
  expect(lost).toMatchObject({ state: 'pending' })
})

test('a worker that cannot reach its server can be stopped', async () => {
  const controller = new AbortController()
  const said: string[] = []
  const worker = new Worker({
    server: 'http://127.0.0.1:1',
    log: (_, message) => {
      said.push(message)
      controller.abort()
    },
  })

  await worker.handle('a', () => {}).run({ signal: controller.signal })

  expect(said[0]).toContain('cannot register')
})
