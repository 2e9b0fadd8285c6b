/** What becomes of a request whose sender loses access between its head and the end of its body. */
import { once } from 'node:events'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { json } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { createTestDatabase } from '../support/database.ts'
import { createTestApp } from './test-app.ts'

const { app, send, signIn } = await createTestApp(await createTestDatabase())
const url = await app.listen({ host: '127.0.0.1', port: 0 })

const bearer = (key: string) => ({ authorization: `Bearer ${key}` })
const admin = bearer((await send('POST', '/v1/keys', { name: 'first', role: 'admin' })).body.key)
const ask = (method: string, path: string, body?: unknown) => send(method, path, body, admin)

const manual = { action: { type: 'sleep', duration: '1h' }, schedule: { type: 'manual' } }
const task = (await ask('POST', '/v1/tasks', manual)).body.id

/** Sends a request but for the last byte of its body; resolves when the server has read its head. */
async function begin(path: string, body: unknown, headers: Record<string, string>) {
  const bytes = Buffer.from(JSON.stringify(body))
  const outgoing = httpRequest(url + path, {
    method: 'POST',
    headers: {
      ...headers,
      'content-type': 'application/json',
      'content-length': bytes.length,
      expect: '100-continue',
    },
  })
  outgoing.flushHeaders()
  await once(outgoing, 'continue')
  outgoing.write(bytes.subarray(0, -1))
  const answered = once(outgoing, 'response') as Promise<[IncomingMessage]>
  return {
    finish: async () => {
      outgoing.end(bytes.subarray(-1))
      const [answer] = await answered
      const { code } = (await json(answer)) as { readonly code?: string }
      return `${answer.statusCode} ${code}`
    },
  }
}

/** Begins changes with a credential, takes its access away, and then finishes them. */
async function finishedAfter(headers: Record<string, string>, end: () => Promise<unknown>) {
  await send('GET', '/v1/tasks', undefined, headers)
  const begun = await Promise.all([
    begin('/v1/tasks', manual, headers),
    begin(`/v1/tasks/${task}/trigger`, { priority: 1 }, headers),
  ])
  await end()
  return Promise.all(begun.map(({ finish }) => finish()))
}

/** The tasks and runs that there are. */
async function stored() {
  const lists = await Promise.all([ask('GET', '/v1/tasks'), ask('GET', `/v1/tasks/${task}/runs`)])
  return lists.map(({ body }) => body.items.length)
}

test('changes begun before their key is revoked are refused when their bodies end after it', async () => {
  const { id, key } = (await ask('POST', '/v1/keys', { name: 'lost', role: 'editor', project: 'default' }))
    .body

  const answers = await finishedAfter(bearer(key), () => ask('DELETE', `/v1/keys/${id}`))

  expect(answers).toEqual(Array(2).fill('401 unauthenticated'))
  expect(await stored()).toEqual([1, 0])
})

test('changes of a person are refused when their role or their session ends first', async () => {
  const { id } = (await ask('POST', '/v1/members', { email: 'ada@example.com', role: 'editor' })).body
  await ask('POST', '/v1/members', { email: 'bob@example.com', role: 'editor' })
  const [ada, bob] = [await signIn('ada@example.com'), await signIn('bob@example.com')]

  const removed = await finishedAfter(ada, () => ask('DELETE', `/v1/members/${id}`))
  const signedOut = await finishedAfter(bob, () => send('POST', '/auth/sign-out', undefined, bob))

  expect(removed).toEqual(Array(2).fill('404 not_found'))
  expect(signedOut).toEqual(Array(2).fill('401 unauthenticated'))
  expect(await stored()).toEqual([1, 0])
})

test('a slow body is accepted if its sender still has access', async () => {
  const { key } = (await ask('POST', '/v1/keys', { name: 'kept', role: 'editor', project: 'default' })).body

  const answers = await finishedAfter(bearer(key), () => ask('POST', '/v1/projects', { name: 'other' }))

  expect(answers).toEqual(Array(2).fill('201 undefined'))
  expect(await stored()).toEqual([2, 1])
})
