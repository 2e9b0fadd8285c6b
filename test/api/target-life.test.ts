/** Targets as a node calls them: paused, full, broken, and called all the same. */

import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { expect, test } from 'vitest'
import { whenDone } from '../support/cleanup.ts'
import { createTestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { startTestNode } from '../support/node.ts'
import { startSink } from '../support/sink.ts'

/** Accepts connections and never says a word. */
async function startHangingServer(): Promise<{ readonly url: string }> {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  whenDone(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}

const node = await startTestNode(await createTestDatabase(), { shutdownGraceMs: 1 })

const create = async (task: object) => (await node.request('POST', '/v1/tasks', task)).body
const why = async (id: string) => (await node.request('GET', `/v1/tasks/${id}/why`)).body
const untilWhy = (id: string, code: string) =>
  eventually(async () => {
    const answer = await why(id)
    return answer.code === code && answer
  })
const act = (target: string, path: string, body?: object) =>
  node.request('POST', `/v1/targets/${encodeURIComponent(target)}/${path}`, body)
const read = async (target: string) =>
  (await node.request('GET', `/v1/targets/${encodeURIComponent(target)}`)).body
const stateOf = async (id: string) => (await node.request('GET', `/v1/tasks/${id}`)).body.state

test('runs for a paused target wait without an attempt, and resuming starts them', async () => {
  const sink = await startSink()
  await act(sink.url, 'pause', { reason: 'deploy' })
  // The worker hears of it a moment later; what is created before that may still start.
  const waiting = await eventually(async () => {
    const task = await create({ action: { type: 'ping', url: `${sink.url}/paused` } })
    return (await eventually(async () => {
      const { code } = await why(task.id)
      return ['target_paused', 'finished'].includes(code) && code
    })) === 'target_paused'
      ? task
      : undefined
  })
  const before = sink.hits.length

  const answer = await untilWhy(waiting.id, 'target_paused')
  expect(answer.facts).toMatchObject({ target: sink.url, reason: 'deploy', runState: 'pending' })
  await eventually(async () => (await read(sink.url)).waiting === 1)

  await act(sink.url, 'resume')
  await eventually(async () => (await stateOf(waiting.id)) === 'finished')
  expect(sink.hits.length).toBe(before + 1)
})

test('a target at its limit shows its calls, and why names it for the waiting runs', async () => {
  const sink = await startHangingServer()
  await node.request('PATCH', `/v1/targets/${encodeURIComponent(sink.url)}`, { limit: 1 })
  const tasks = await eventually(async () => {
    const made = [
      await create({ action: { type: 'ping', url: sink.url } }),
      await create({ action: { type: 'ping', url: sink.url } }),
    ]
    const codes = await eventually(async () => {
      const both = await Promise.all(made.map(async ({ id }) => (await why(id)).code))
      return both.every((code) => ['running', 'target_full'].includes(code)) && both
    })
    return codes.includes('target_full') && made
  })

  const shown = await eventually(async () => {
    const target = await read(sink.url)
    return target.state === 'full' && target.waiting > 0 && target
  })
  expect(shown).toMatchObject({
    underWay: expect.any(Number),
    limit: { perNode: 1, reason: 'setting', pattern: sink.url },
    nodes: [{ state: 'full', limit: { current: 1 } }],
  })
  for (const { id } of tasks) await node.request('POST', `/v1/tasks/${id}/cancel`)
})

test('an open circuit stops calls, except those of tasks that opt out', async () => {
  const server = createServer()
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const target = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  await new Promise((resolve) => server.close(resolve))
  const broken = {
    action: { type: 'ping', url: target },
    retry: { limit: 5, initial: '10ms', max: '10ms' },
  }

  const tasks = [await create(broken), await create(broken)]
  const open = await eventually(async () => {
    const shown = await read(target)
    return shown.circuit?.state === 'open' && shown
  })
  expect(open).toMatchObject({
    state: 'circuit_open',
    circuit: { error: { code: 'connect_refused' }, nextProbeAt: expect.any(String) },
    lastError: { code: 'connect_refused' },
  })
  const causes = await eventually(async () => {
    const answers = await Promise.all(tasks.map(({ id }) => why(id)))
    return answers.find(({ code }) => code === 'target_circuit_open')
  })
  expect(causes).toMatchObject({ facts: { target, until: expect.any(String) } })

  const always = await create({ ...broken, circuitBreaker: false })
  await eventually(async () => (await stateOf(always.id)) === 'finished')
  const { body } = await node.request('GET', `/v1/tasks/${always.id}/runs`)
  expect(body.items).toMatchObject([{ state: 'permanently_failed', attempt: 6 }])
  expect((await read(target)).circuit.state).toBe('open')
})
