/**
 * Answers every HTTP request with 200 at the lowest cost that Node.js allows: no parser, one constant response. It is a
 * separate process, so that its CPU time is not counted for a contender. While recording, it keeps the webhook-id of each
 * request and how long after its scheduled instant the request arrived.
 */
import { createServer } from 'node:net'
import { serve } from '../peers/channel.mjs'

const ANSWER = Buffer.from('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok')
const END_OF_HEAD = '\r\n\r\n'

let received = 0
let isRecording = false
/** @type {number[]} */
let lateMs = []
/** @type {number[]} */
let dueAt = []
let ids = new Set()

const server = createServer((socket) => {
  let rest = ''
  socket.setNoDelay(true)
  socket.on('error', () => {})
  socket.on('data', (chunk) => {
    rest += chunk.toString('latin1')
    for (;;) {
      const head = rest.indexOf(END_OF_HEAD)
      if (head < 0) return
      const end = head + END_OF_HEAD.length + bodyLength(rest, head)
      if (rest.length < end) return
      received++
      if (isRecording) record(rest.slice(0, head))
      rest = rest.slice(end)
      socket.write(ANSWER)
    }
  })
})

/**
 * @param {string} text
 * @param {number} head where the head ends
 */
function bodyLength(text, head) {
  const found = /\r\ncontent-length: *(\d+)/i.exec(text.slice(0, head))
  return found ? Number(found[1]) : 0
}

/** @param {string} head */
function record(head) {
  const now = Date.now()
  const scheduledFor = Date.parse(/\r\nbelfry-scheduled-for: *(\S+)/i.exec(head)?.[1] ?? '')
  if (!Number.isNaN(scheduledFor)) {
    lateMs.push(now - scheduledFor)
    dueAt.push(scheduledFor)
  }
  ids.add(/\r\nwebhook-id: *(\S+)/i.exec(head)?.[1])
}

serve({
  listen: () =>
    new Promise((resolve) =>
      server.listen(0, '127.0.0.1', () => resolve(`http://127.0.0.1:${server.address().port}`)),
    ),
  /** Discards what was received so far. */
  reset: (/** @type {{ record: boolean }} */ { record: wanted }) => {
    received = 0
    isRecording = wanted
    lateMs = []
    dueAt = []
    ids = new Set()
  },
  read: () => ({ received, distinct: ids.size, lateMs, dueAt }),
})
