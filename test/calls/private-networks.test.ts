/** Calls into private networks that the operator has listed, and what a project gives up of them. */
import { expect, test } from 'vitest'
import { createTestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { aManualTask, startTestNode } from '../support/node.ts'
import { startSink } from '../support/sink.ts'

const node = await startTestNode(await createTestDatabase(), {
  privateAddresses: 'refuse',
  allowedPrivateNetworks: '127.0.0.1',
})
const sink = await startSink()

/** Why the run of a task that calls an address failed; null when it did not. */
async function failureOf(url: string): Promise<string | null> {
  const id = await aManualTask(node, { action: { type: 'webhook', url, body: {} }, retry: { limit: 0 } })
  const { body: run } = await node.request('POST', `/v1/tasks/${id}/trigger`)
  const ended = await eventually(async () => {
    const { body } = await node.request('GET', `/v1/runs/${run.id}`)
    return body.endedAt !== null && body
  })
  return ended.error?.code ?? null
}

test('only listed private networks are reached, and a project can exclude them', async () => {
  const listed = await failureOf(sink.url)
  const other = await failureOf(sink.url.replace('127.0.0.1', '127.0.0.2'))
  await node.request('PATCH', '/v1/projects/default', { network: { allowedPrivate: [] } })
  await eventually(async () => (await failureOf(sink.url)) === 'forbidden_address')
  const made = await node.request('POST', '/v1/subscriptions', { url: sink.url })
  const tried = await node.request('POST', `/v1/subscriptions/${made.body.id}/test`)

  expect(listed).toBeNull()
  expect(other).toBe('forbidden_address')
  expect(tried.body).toMatchObject({ error: { code: 'forbidden_address' } })
})

test('a project that is created with a restriction is restricted from its first call', async () => {
  await node.request('POST', '/v1/projects', { name: 'confined', network: { allowedPrivate: [] } })
  const inProject = (method: string, path: string, body?: unknown) =>
    node.request(method, path, body, { 'belfry-project': 'confined' })
  const action = { type: 'webhook', url: `${sink.url}/confined`, body: {} }
  const { body: task } = await inProject('POST', '/v1/tasks', { action, schedule: { type: 'manual' } })
  const { body: run } = await inProject('POST', `/v1/tasks/${task.id}/trigger`)

  const ended = await eventually(async () => {
    const { body } = await inProject('GET', `/v1/runs/${run.id}`)
    return body.endedAt !== null && body
  })

  expect(ended.error?.code).toBe('forbidden_address')
  expect(sink.hits.filter(({ path }) => path === '/confined')).toEqual([])
})
