import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gzipSync } from 'node:zlib'
import { expect, onTestFinished, test } from 'vitest'
import { sendHttp } from './http.ts'

async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, '127.0.0.1')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  await once(server, 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** A signal that never comes. */
const never = () => new AbortController().signal

test('header bytes stay unchanged beside a UTF-8 body, and every body has a content length', async () => {
  const url = await serve(async (request, answer) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const { 'belfry-reason': reason, 'content-length': length } = request.headers
    answer.end(JSON.stringify({ reason, length, body: Buffer.concat(chunks).toString() }))
  })
  const reason = Buffer.from('März').toString('latin1')

  const answer = await sendHttp(url, {
    method: 'DELETE',
    headers: { 'belfry-reason': reason },
    body: '{"a":"ü"}',
    signal: never(),
    ca: null,
  })

  expect(JSON.parse(await answer.text())).toEqual({ reason, length: '10', body: '{"a":"ü"}' })
})

test('a response that arrives before the whole body is sent is returned, and sending stops', async () => {
  const url = await serve((_, answer) => answer.writeHead(409).end('enough'))
  let pulled = 0
  async function* endless() {
    for (;;) {
      pulled++
      yield Buffer.alloc(64 * 1024)
      await new Promise(setImmediate)
    }
  }

  const answer = await sendHttp(url, {
    method: 'PUT',
    headers: {},
    body: endless(),
    signal: never(),
    ca: null,
  })
  const text = await answer.text()
  await new Promise(setImmediate)
  const before = pulled
  for (let i = 0; i < 100; i++) await new Promise(setImmediate)

  expect([answer.status, answer.isOk, text]).toEqual([409, false, 'enough'])
  expect(pulled - before).toBeLessThan(3)
})

test('aborting a request also ends reading its response, with the reason of the signal', async () => {
  const url = await serve((_, answer) => answer.write('begun'))
  const controller = new AbortController()
  const answer = await sendHttp(url, { method: 'GET', headers: {}, signal: controller.signal, ca: null })
  const arriving = answer.bytes()
  expect(String((await arriving.next()).value)).toBe('begun')

  const next = arriving.next()
  controller.abort(new Error('it stood still'))

  await expect(next).rejects.toThrow('it stood still')
})

test('a response that is cut off is an error', async () => {
  const url = await serve((_, answer) => {
    answer.writeHead(200, { 'content-length': '100' }).write('only this', () => answer.destroy())
  })

  const answer = await sendHttp(url, { method: 'GET', headers: {}, signal: never(), ca: null })

  await expect(answer.text()).rejects.toThrow()
})

test('a compressed response is requested and unpacked, and one that is cut off is an error', async () => {
  const packed = gzipSync('{"items":[]}')
  const url = await serve(({ url: path, headers }, answer) => {
    answer.setHeader('content-encoding', String(headers['accept-encoding']))
    answer.end(path === '/cut' ? packed.subarray(0, -9) : packed)
  })
  const get = (path: string) =>
    sendHttp(url + path, { method: 'GET', headers: {}, signal: never(), ca: null })

  expect(await (await get('/whole')).text()).toBe('{"items":[]}')
  await expect((await get('/cut')).text()).rejects.toThrow()
})

test('a response that switches protocols is an error', async () => {
  const url = await serve((_, answer) => {
    answer.socket?.end('HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n')
  })

  const asked = sendHttp(url, { method: 'GET', headers: {}, signal: never(), ca: null })

  await expect(asked).rejects.toThrow('without a response')
})
