/** The address of a receiver may contain a token: only callers who may change the subscription see it. */
import { expect, test } from 'vitest'
import { createTestDatabase } from '../support/database.ts'
import { startTestNode } from '../support/node.ts'

const ADMIN_KEY = 'an-admin-key-for-tests-of-enough-characters'
const node = await startTestNode(await createTestDatabase(), { roles: 'api', adminKey: ADMIN_KEY })
const as = (key: string) => ({ authorization: `Bearer ${key}` })
const admin = as(ADMIN_KEY)
const keyWith = async (limits: object) => {
  const { body } = await node.request(
    'POST',
    '/v1/keys',
    { name: 'a key', project: 'default', ...limits },
    admin,
  )
  return as(body.key)
}
const subscribe = async (filter: object) => {
  const made = await node.request(
    'POST',
    '/v1/subscriptions',
    { url: 'https://example.com/token', filter },
    admin,
  )
  return `/v1/subscriptions/${made.body.id}`
}
const MASKED = 'https://example.com/••••••'

test('a caller sees the address of a receiver if and only if the caller may change the subscription', async () => {
  const [runs, changes] = [await subscribe({}), await subscribe({ events: ['audit-log'] })]
  const callers = {
    admin,
    editor: await keyWith({ role: 'editor' }),
    operator: await keyWith({ role: 'operator' }),
    editorOfQueues: await keyWith({ role: 'editor', queues: ['reports'] }),
  }
  const seen = async (path: string) => {
    const answers = Object.entries(callers).map(async ([caller, headers]) => {
      const { body } = await node.request('GET', path, undefined, headers)
      const { status } = await node.request('PATCH', path, { name: 'renamed' }, headers)
      return [caller, [body.url, status]]
    })
    return Object.fromEntries(await Promise.all(answers))
  }

  expect(await seen(runs)).toEqual({
    admin: ['https://example.com/token', 200],
    editor: ['https://example.com/token', 200],
    operator: [MASKED, 403],
    editorOfQueues: [MASKED, 403],
  })
  expect(await seen(changes)).toEqual({
    admin: ['https://example.com/token', 200],
    editor: [MASKED, 403],
    operator: [MASKED, 403],
    editorOfQueues: [MASKED, 403],
  })
})
