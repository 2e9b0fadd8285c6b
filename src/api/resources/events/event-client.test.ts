/** A client that does not read, over a real socket. */
import { once } from 'node:events'
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, expect, test } from 'vitest'
import type { EventPosition } from '../../../core/run/frontier.ts'
import type { EndedRun } from '../../../core/run/run-event.ts'
import type { HistoryPage } from '../../../events/history-page.ts'
import { HistoryTail } from '../../../events/history-tail.ts'
import type { Database } from '../../../store/database/database.ts'
import { silentLogger } from '../../../telemetry/logger.ts'
import { EventClient } from './event-client.ts'
import { EventClients } from './event-clients.ts'

const server = createServer()
await once(server.listen(0, '127.0.0.1'), 'listening')
afterAll(() => {
  server.closeAllConnections()
  server.close()
})

/** Both ends of a stream. The client reads nothing until the test lets it. */
async function connect(stuckMs: number) {
  const arrived = once(server, 'request')
  const asked = request({ port: (server.address() as AddressInfo).port, host: '127.0.0.1' })
  asked.on('error', () => {})
  asked.end()
  const [, response] = (await arrived) as [IncomingMessage, ServerResponse]
  const client = new EventClient({ response, headers: { 'x-test': 'yes' }, stuckMs })
  client.adviseRetry(1)
  const [answer] = (await once(asked, 'response')) as [IncomingMessage]
  return { response, client, asked, answer }
}

const big = { event: 'e', data: JSON.stringify('x'.repeat(256 * 1024)), id: '1' }

/** Sends until the client has to be waited for. */
async function fill(client: EventClient): Promise<void> {
  for (let i = 0; i < 500; i++) {
    client.send(big)
    const isWaiting = await Promise.race([
      client.hasRead().then(() => false),
      new Promise((r) => setTimeout(r, 20, true)),
    ])
    if (isWaiting) return
  }
  throw new Error('the client took everything without reading')
}

test('a client that does not read is detected, and receives the end event when it reads again', async () => {
  const { client, answer } = await connect(50)
  await fill(client)

  const hasRead = await client.hasRead()
  client.end('end', '{"reason":"behind"}')
  let text = ''
  for await (const chunk of answer) text = (text + chunk).slice(-200)

  expect(hasRead).toBe(false)
  expect(client.gone.aborted).toBe(true)
  expect(text).toMatch(/event: end\ndata: \{"reason":"behind"\}\n\n$/)
})

test('a stream waits for a client until it reads again', async () => {
  const { client, answer, response } = await connect(60_000)
  await fill(client)

  const reading = client.hasRead()
  answer.resume()

  expect(await reading).toBe(true)
  response.destroy()
})

test('a client that goes away is noticed, also while it is waited for', async () => {
  const { client, asked } = await connect(60_000)
  await fill(client)

  const reading = client.hasRead()
  asked.destroy()
  await reading

  expect(client.gone.aborted).toBe(true)
})

const EVENTS = 100
const MARK = 'event: belfry.run'

/** A history of one page of large events, and nothing behind it. */
class OnePage extends HistoryTail {
  readonly #position = { from: { xmax: 1, fromUs: 1, pending: [] }, to: null, at: null }
  #isRead = false

  override follow = async () => () => {}
  override get end() {
    return this.#position
  }
  override async page(): Promise<HistoryPage | null> {
    if (this.#isRead) return null
    this.#isRead = true
    const row = {
      id: 'a',
      projectId: 'p',
      state: 'completed',
      scheduledFor: 0,
      startedAt: 0,
      endedAt: 0,
      coversUntil: null,
    }
    const rows = Array.from({ length: EVENTS }, () => ({ ...row, error: big.data }) as unknown as EndedRun)
    return { rows, positionAt: () => this.#position, next: this.#position, gap: null }
  }
}

test('no more of a page is written than the client reads', async () => {
  const tail = new OnePage({ db: undefined as unknown as Database, log: silentLogger() })
  const clock = { now: () => Date.now() }
  const clients = new EventClients({
    tails: { history: tail, 'audit-log': tail },
    clock,
    log: silentLogger(),
    limit: 1,
    deletedAfter: async () => null,
  })
  const arrived = once(server, 'request')
  const asked = request({ port: (server.address() as AddressInfo).port, host: '127.0.0.1' }).end()
  const [, response] = (await arrived) as [IncomingMessage, ServerResponse]

  await clients.open({ response, headers: {}, projectId: 'p', filter: {}, start: 'now' }, () => {})
  const [answer] = (await once(asked, 'response')) as [IncomingMessage]
  const waiting: number[] = []
  let told = 0
  let rest = ''
  for await (const chunk of answer) {
    waiting.push(response.writableLength)
    const text = rest + chunk
    told += text.split(MARK).length - 1
    rest = text.slice(1 - MARK.length)
    if (told === EVENTS) break
  }

  expect(told).toBe(EVENTS)
  expect(Math.max(...waiting)).toBeLessThan(4 * big.data.length)
  clients.close()
})

/** History from long ago, a page at a time, and then nothing. */
class OldPages extends HistoryTail {
  readonly #pages: number
  readonly #onEnd: () => void
  #read = 0

  constructor(pages: number, onEnd: () => void) {
    super({ db: undefined as unknown as Database, log: silentLogger() })
    this.#pages = pages
    this.#onEnd = onEnd
  }

  override follow = async () => () => {}
  override async page({ from }: EventPosition): Promise<HistoryPage | null> {
    if (this.#read++ === this.#pages) {
      this.#onEnd()
      return null
    }
    const next = { from: { ...from, fromUs: from.fromUs + 1_000 }, to: null, at: null }
    return { rows: [], positionAt: () => next, next, gap: null }
  }
}

test('a stream that retention overtakes on its way shows each gap once', async () => {
  const tail = new OldPages(5, () => clients.close())
  const answers = [null, 2_000, 2_000, 3_000, null]
  const clients = new EventClients({
    ...{
      tails: { history: tail, 'audit-log': tail },
      clock: { now: () => Date.now() },
      log: silentLogger(),
      limit: 1,
    },
    deletedAfter: async () => answers.shift() ?? null,
  })
  const arrived = once(server, 'request')
  const asked = request({ port: (server.address() as AddressInfo).port, host: '127.0.0.1' }).end()
  const [, response] = (await arrived) as [IncomingMessage, ServerResponse]
  const start = { from: { xmax: 1, fromUs: 1, pending: [] }, to: null, at: null }

  await clients.open({ response, headers: {}, projectId: 'p', filter: {}, start }, () => {})
  const [answer] = (await once(asked, 'response')) as [IncomingMessage]
  let text = ''
  for await (const chunk of answer) text += chunk

  const gaps = [...text.matchAll(/event: gap\nid: .*\ndata: (.*)/g)].map(([, data]) => JSON.parse(data ?? ''))
  expect(gaps.map(({ from }) => Date.parse(from))).toEqual([2_000, 3_000])
})
