/** Tasks and runs are found by the beginning of their ids. */
import { expect, test } from 'vitest'
import { createTestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { startTestNode } from '../support/node.ts'

const node = await startTestNode(await createTestDatabase())
const ids = async (type: string, prefix: string) =>
  (await node.request('GET', `/v1/ids?type=${type}&prefix=${prefix}`)).body
const create = async (name: string) => {
  const task = { name, schedule: { type: 'manual' }, action: { type: 'sleep', duration: '0s' } }
  return (await node.request('POST', '/v1/tasks', task)).body
}

test('a task is found by a prefix of its id, in upper or lower case, with or without dashes', async () => {
  const { id } = await create('alone')
  const expected = { items: [{ id, type: 'task', name: 'alone' }], hasMore: false }

  for (const prefix of [id, id.slice(0, 30), id.toUpperCase(), id.replaceAll('-', '').slice(0, 28)])
    expect(await ids('task', prefix)).toEqual(expected)
  expect(await ids('run', id)).toEqual({ items: [], hasMore: false })
  expect(await ids('task', 'ffffffff')).toEqual({ items: [], hasMore: false })
})

test('a run is found while it is live and after it has ended', async () => {
  const { id: taskId } = await create('done')
  const slow = await create('slow')
  await node.request('PATCH', `/v1/tasks/${slow.id}`, { action: { type: 'sleep', duration: '10m' } })
  const ended = (await node.request('POST', `/v1/tasks/${taskId}/trigger`)).body.id
  const live = (await node.request('POST', `/v1/tasks/${slow.id}/trigger`)).body.id
  await eventually(async () => (await node.request('GET', `/v1/runs/${ended}`)).body.state === 'completed')

  expect(await ids('run', ended.slice(0, 35))).toMatchObject({ items: [{ id: ended, name: 'done' }] })
  expect(await ids('run', live.slice(0, 35))).toMatchObject({ items: [{ id: live, name: 'slow' }] })
  // A node that stops waits for its runs.
  await node.request('POST', `/v1/runs/${live}/cancel`)
})

test('at most ten candidates are listed, and an invalid prefix is refused', async () => {
  await Promise.all(Array.from({ length: 12 }, (_, i) => create(`many ${i}`)))
  const all: string[] = (await node.request('GET', '/v1/tasks?limit=100')).body.items.map(
    ({ id }: { id: string }) => id,
  )
  const prefix = all[0]?.slice(0, 8) ?? ''
  const alike = all.filter((id) => id.startsWith(prefix)).sort()

  const { items, hasMore } = await ids('task', prefix)

  expect(items.map(({ id }: { id: string }) => id)).toEqual(alike.slice(0, 10))
  expect(hasMore).toBe(alike.length > 10)
  for (const wrong of ['01a1e12', 'morning1', ''])
    expect((await ids('task', wrong)).code).toBe('invalid_input')
  expect((await ids('node', prefix)).code).toBe('invalid_input')
})
