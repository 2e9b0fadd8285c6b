/** How long clients may take: to send a body, and to receive a response. Time is the test's own. */
import { EventEmitter } from 'node:events'
import type { IncomingMessage, Server } from 'node:http'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { SlowReaders } from './slow-readers.ts'
import { allowLongBody, SlowSenders } from './slow-senders.ts'

const LIMIT_MS = 30_000
const server = new EventEmitter() as unknown as Server
beforeEach(() => void vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] }))
afterEach(() => void vi.useRealTimers())

/** A request whose body arrives as the test says. */
function aRequest() {
  const socket = { bytesRead: 0 }
  const request = Object.assign(new EventEmitter(), {
    socket,
    complete: false,
    headers: { 'content-length': '100' },
  })
  server.emit('request', request as unknown as IncomingMessage, new EventEmitter())
  return request
}

test('a body is cut off when its time is over, however it arrives; an upload only when nothing arrives', () => {
  const senders = new SlowSenders(server, LIMIT_MS)
  const cut: unknown[] = []
  server.on('clientError', (error: { code: string }, socket: unknown) => cut.push([error.code, socket]))
  const [ordinary, upload, done] = [aRequest(), aRequest(), aRequest()]
  allowLongBody(upload as unknown as IncomingMessage)
  done.complete = true

  for (let seconds = 0; seconds < 100; seconds++) {
    ordinary.socket.bytesRead++
    upload.socket.bytesRead++
    vi.advanceTimersByTime(1_000)
  }
  const whileSending = [...cut]
  vi.advanceTimersByTime(LIMIT_MS + 2_000)

  expect(whileSending).toEqual([['ERR_HTTP_REQUEST_TIMEOUT', ordinary.socket]])
  expect(cut.slice(1)).toEqual([['ERR_HTTP_REQUEST_TIMEOUT', upload.socket]])
  senders.stop()
})

test('a response is ended when the client reads nothing, not when it reads slowly', () => {
  const readers = new SlowReaders(server, LIMIT_MS)
  const aResponse = () => {
    const socket = { destroy: vi.fn() }
    const response = Object.assign(new EventEmitter(), { socket, writableNeedDrain: true })
    server.emit('request', Object.assign(new EventEmitter(), { headers: {} }), response)
    return response
  }
  const [slow, stuck] = [aResponse(), aResponse()]

  for (let seconds = 0; seconds < 100; seconds++) {
    if (seconds % 20 === 0) slow.emit('drain')
    vi.advanceTimersByTime(1_000)
  }

  expect(slow.socket.destroy).not.toHaveBeenCalled()
  expect(stuck.socket.destroy).toHaveBeenCalled()
  readers.stop()
})
