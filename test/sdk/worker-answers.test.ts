/** What the worker of the package makes of answers, from a server that gives the ones that a test wants. */
import { randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { whenDone } from '../support/cleanup.ts'
import { eventually } from '../support/eventually.ts'
import { aWorker } from './support.ts'

type Said = { path: string; body: { requestId?: string; runs?: unknown[] } }
type Answer = (response: ServerResponse, said: Said) => void

const json =
  (status: number, body: unknown, headers: Record<string, string> = {}): Answer =>
  (response) =>
    response.writeHead(status, headers).end(JSON.stringify(body))
const gone = json(410, { code: 'worker_gone', detail: 'gone' })

/** Answers each request by its last word: the first answer to the first, and so on, the last to all others. */
async function aServer(answers: Record<string, readonly Answer[]>) {
  const said: Said[] = []
  const read = async (request: IncomingMessage) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    return JSON.parse(Buffer.concat(chunks).toString('utf8') || '{}')
  }
  const server = createServer(async (request, response) => {
    const path = request.url?.split('/').at(-1) ?? ''
    const one = { path, body: await read(request) }
    const before = said.filter((other) => other.path === path).length
    said.push(one)
    const mine = answers[path] ?? [json(200, { cancelled: [], lost: [] })]
    mine[Math.min(before, mine.length - 1)]?.(response, one)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  whenDone(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const to = (path: string) => said.filter((one) => one.path === path)
  return { url: `http://127.0.0.1:${port}`, to }
}

const welcome = () =>
  json(201, { workerId: randomUUID(), token: randomUUID(), heartbeatMs: 50, leaseMs: 60_000 })
const aRun = (handler: string) => ({
  ...{ runId: randomUUID(), taskId: randomUUID(), handler, payload: null, attempt: 1, fence: 1 },
  ...{ scheduledFor: '2026-01-01T00:00:00Z', timeoutMs: 60_000, traceparent: '', tracingId: null },
})
const empty = json(200, { runs: [] })

test('a claim is repeated with the same requestId until it succeeds', async () => {
  const server = await aServer({
    register: [welcome()],
    claim: [
      (response) => response.destroy(),
      json(503, { code: 'unavailable', detail: 'busy' }),
      (response) => response.writeHead(200).end('{"runs": ['),
      json(404, { code: 'not_found', detail: 'the wrong server' }),
      json(429, { code: 'slow_down', detail: 'later' }, { 'retry-after': '1' }),
      empty,
    ],
  })

  await aWorker(server.url, { greet: () => {} })
  await eventually(async () => server.to('claim').length > 6)

  const ids = server.to('claim').map(({ body }) => body.requestId)
  expect(new Set(ids.slice(0, 6)).size).toBe(1)
  expect(ids[6]).not.toBe(ids[0])
})

test('a worker whose report gets 410 stops its runs and registers again', async () => {
  const [quick, slow] = [aRun('quick'), aRun('slow')]
  const stopped: unknown[] = []
  const server = await aServer({
    register: [welcome(), welcome()],
    claim: [json(200, { runs: [slow, quick] }), empty],
    complete: [gone],
  })

  await aWorker(server.url, {
    quick: () => 'done',
    slow: (_, { signal }) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => {
          stopped.push(signal.reason)
          reject(signal.reason)
        })
      }),
  })

  await eventually(async () => server.to('register').length === 2)
  await eventually(async () => stopped.length === 1)
  expect(stopped).toMatchObject([{ why: 'lease_lost' }])
})

test('each heartbeat names the leased runs until their reports are accepted', async () => {
  const runs = [aRun('wait'), aRun('wait')]
  const release: (() => void)[] = []
  const server = await aServer({
    register: [welcome()],
    claim: [json(200, { runs }), empty],
    complete: [json(503, { code: 'unavailable', detail: 'busy' }), json(200, { runs: [] })],
  })
  const named = () => server.to('heartbeat').at(-1)?.body.runs?.length

  await aWorker(server.url, { wait: () => new Promise<void>((resolve) => release.push(resolve)) })

  await eventually(async () => named() === 2)
  for (const end of release) end()
  await eventually(async () => server.to('complete').length === 1)
  expect(named()).toBe(2)
  await eventually(async () => named() === 0)
  expect(server.to('complete')).toHaveLength(2)
})
