/** A request under way is broken off when its run is cancelled, from any node, and what was cancelled stays so. */
import { expect, test } from 'vitest'
import { createTestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { startTestNode } from '../support/node.ts'
import { startPeer } from './peer.ts'

/** What is promised is 5 s; a machine that is busy with other tests is given more. */
const PROMISED_MS = 30_000

interface Told {
  readonly opened?: string
  readonly closed?: string
  readonly at: number
}

const database = await createTestDatabase()
const api = await startTestNode(database, { roles: 'api,scheduler,liveness' })
await startTestNode(database, { roles: 'worker', concurrency: 100 })

const create = async (url: string, more: object = {}) =>
  (await api.request('POST', '/v1/tasks', { action: { type: 'webhook', url, body: {} }, ...more })).body.id
const runOf = async (taskId: string) => (await api.request('GET', `/v1/tasks/${taskId}/runs`)).body.items[0]

test('cancelling a run closes the connection of its call in time, and the run ends cancelled', async () => {
  const sink = await startPeer<Told>('./holding-process.mjs')
  const id = await create(`http://127.0.0.1:${sink.port}/held`)
  await eventually(async () => sink.told.some(({ opened }) => opened === '/held'))
  const { id: runId } = await runOf(id)

  const cancelledAt = Date.now()
  const answer = await api.request('POST', `/v1/runs/${runId}/cancel`)
  const closed = await eventually(async () => sink.told.find((message) => message.closed === '/held'))

  expect(answer.status).toBe(200)
  expect(closed.at - cancelledAt).toBeLessThan(PROMISED_MS)
  const run = await eventually(async () => {
    const found = (await api.request('GET', `/v1/runs/${runId}`)).body
    return found.endedAt && found
  })
  expect(run).toMatchObject({ state: 'cancelled', attempts: [{ outcome: 'cancelled' }] })
})

test('when a cancel and an answer coincide, one wins, and the API reports the outcome that is recorded', async () => {
  const sink = await startPeer<Told>('./holding-process.mjs')
  const ids = await Promise.all(
    Array.from({ length: 40 }, (_, i) =>
      create(`http://127.0.0.1:${sink.port}/${i}`, { retry: { limit: 0 } }),
    ),
  )
  await eventually(async () => sink.told.filter(({ opened }) => opened !== undefined).length === ids.length)
  const runIds = await Promise.all(ids.map(async (id) => (await runOf(id)).id))

  const [, ...answers] = await Promise.all([
    sink.say({ answer: true }),
    ...runIds.map((id) => api.request('POST', `/v1/runs/${id}/cancel`)),
  ])
  const states = await eventually(async () => {
    const runs = await Promise.all(runIds.map((id) => api.request('GET', `/v1/runs/${id}`)))
    return runs.every(({ body }) => body.endedAt) && runs.map(({ body }) => body.state)
  })

  expect(states).toEqual(answers.map(({ status }) => (status === 200 ? 'cancelled' : 'completed')))
  expect(answers.every(({ status, body }) => status === 200 || body.code === 'run_ended')).toBe(true)
})
