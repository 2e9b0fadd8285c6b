import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { Server, serverUrl } from './server.ts'

interface Said {
  readonly status: number
  readonly headers?: Record<string, string>
  readonly type?: string
  readonly body?: string
}

async function whoSays({ status, headers, type = 'application/json', body = '' }: Said): Promise<string> {
  const server = createServer((_, answer) =>
    answer.writeHead(status, { ...headers, 'content-type': type, 'content-length': body.length }).end(body),
  ).listen(0, '127.0.0.1')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  await once(server, 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

test.each<[string, Said]>([
  ['a redirect without content', { status: 302 }],
  ['a page', { status: 200, type: 'text/html', body: '<p>' }],
  ['an error that is no problem document', { status: 500, body: '{"message":"no"}' }],
  ['an error without an object', { status: 404, body: '[]' }],
  ['JSON that ends too early', { status: 200, body: '{"items":[' }],
  ['an error with JSON that ends too early', { status: 400, body: '{' }],
])('a server that responds with %s is not accepted as Belfry', async (_, said) => {
  const url = await whoSays(said)

  const asked = new Server(url).get('/v1/tasks')

  await expect(asked).rejects.toThrow(
    `The server at ${url} is not a Belfry server: it answered ${said.status} with a body that is not a Belfry response.`,
  )
})

test('the error message is the detail of the problem document', async () => {
  const problem = { status: 404, code: 'not_found', title: 'Not found', detail: 'Task a does not exist.' }
  const url = await whoSays({ status: 404, type: 'application/problem+json', body: JSON.stringify(problem) })

  await expect(new Server(url).get('/v1/tasks/a')).rejects.toThrow('Task a does not exist.')
})

test('a refusal says when the server wants to be asked again', async () => {
  const body = JSON.stringify({ status: 503, code: 'busy', title: 'Busy', detail: 'No place is free.' })
  const [asking, silent] = [
    await whoSays({ status: 503, body, headers: { 'retry-after': '5' } }),
    await whoSays({ status: 503, body }),
  ]

  await expect(new Server(asking).get('/v1/tasks')).rejects.toMatchObject({ retryAfterMs: 5_000 })
  await expect(new Server(silent).get('/v1/tasks')).rejects.toMatchObject({ retryAfterMs: null })
})

test.each([
  ['API key 7 does not exist.', 'belfry key list'],
  ['Project shop does not exist.', 'belfry project list'],
  ["Queue 'mail' does not exist.", 'belfry queue list'],
])('"%s" comes with the hint: %s', async (detail, command) => {
  const problem = { status: 404, code: 'not_found', title: 'Not found', detail }
  const url = await whoSays({ status: 404, type: 'application/problem+json', body: JSON.stringify(problem) })

  const asked = new Server(url).get('/v1/anything')

  await expect(asked).rejects.toMatchObject({ hint: `To see what exists: ${command}` })
})

test('characters that a header cannot contain are reported, and the server is not blamed', async () => {
  const url = await whoSays({ status: 200, body: '{}' })

  const asked = new Server(url, { project: 'a🙂' }).get('/v1/tasks')

  await expect(asked).rejects.toThrow('contains characters that cannot be sent in a header')
})

test('a server address with a password is refused without repeating the password', () => {
  const read = () => serverUrl('http://ada:geheim@127.0.0.1:3369', {})

  expect(read).toThrow('--server contains a user name or password')
  expect(read).not.toThrow('geheim')
})
