/** What tasks and subscriptions send does not get into the API, whichever way it takes. */
import { expect, test } from 'vitest'
import { createTestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { aManualTask, startOneNode } from '../support/node.ts'
import { createTestApp } from './test-app.ts'

const database = await createTestDatabase()
const { send } = await createTestApp(database)
const node = await startOneNode(database, { roles: 'api,scheduler,worker' })
/** On the same machine and database: its port is not one of the first node's own. */
const other = await startOneNode(database, { roles: 'api' })

/** How the one run of a task that calls an address ends. */
async function runOf(action: object) {
  const id = await aManualTask(node, { action, retry: { limit: 0 } })
  const { body: run } = await node.request('POST', `/v1/tasks/${id}/trigger`)
  return eventually(async () => {
    const { body } = await node.request('GET', `/v1/runs/${run.id}`)
    return body.endedAt !== null && body
  })
}

async function pausedQueues() {
  const { body } = await node.request('GET', '/v1/queues')
  return body.items.filter(({ pausedAt }: { pausedAt: string | null }) => pausedAt !== null)
}

test.each<[string, Record<string, string>]>([
  ['a task', { 'belfry-task-id': '01900000-0000-7000-8000-000000000000' }],
  ['a subscription', { 'belfry-subscription-id': '01900000-0000-7000-8000-000000000000' }],
  ['anything that calls itself Belfry', { 'user-agent': 'belfry/0.1.0' }],
])('a request of %s is refused, reads included', async (_, headers) => {
  for (const [method, url] of [
    ['GET', '/v1/tasks'],
    ['POST', '/v1/queues/default/pause'],
    ['POST', '/tasks'],
    ['GET', '/healthz'],
  ] as const) {
    const { status, body } = await send(method, url, undefined, headers)
    expect({ status, code: body.code }).toEqual({ status: 403, code: 'own_request' })
  }
})

test('a task does not reach the API of its own node', async () => {
  const url = `${node.url}/v1/queues/default/pause`

  const run = await runOf({ type: 'http', method: 'POST', url, body: {} })

  expect(run.error).toMatchObject({ code: 'forbidden_address' })
  expect(await pausedQueues()).toEqual([])
})

test('a request of a task to another node is refused there', async () => {
  const url = `${other.url}/v1/queues/default/pause`

  const run = await runOf({ type: 'http', method: 'POST', url, body: {} })

  expect(run.error).toMatchObject({ code: 'http_status', detail: { status: 403 } })
  expect(await pausedQueues()).toEqual([])
})

test('a subscription does not reach the API of its own node', async () => {
  const made = await node.request('POST', '/v1/subscriptions', { url: `${node.url}/v1/tasks` })

  const { body } = await node.request('POST', `/v1/subscriptions/${made.body.id}/test`)

  expect(body).toMatchObject({ error: { code: 'forbidden_address' } })
})
