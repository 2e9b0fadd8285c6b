/**
 * Targets of calls, healthy and broken, in a separate process: each is a port that behaves as it was last asked to.
 *
 *   healthy        answers 200 at once
 *   slow           answers 200 after `ms`
 *   silent         reads the request and never answers, until it is released
 *   unavailable    answers 503
 *   fails          answers 500
 *   closes         closes each connection as soon as it is accepted
 *   resets         resets the connection when a request has come
 *   refuses        listens to nobody
 *   garbage        its address says https, and it answers with what is not TLS
 *
 * Raw sockets, so that thousands of calls under way cost little here.
 */
import { createServer } from 'node:net'

const END_OF_HEAD = '\r\n\r\n'
const answer = (/** @type {string} */ status) =>
  Buffer.from(`HTTP/1.1 ${status}\r\ncontent-length: 2\r\n\r\nok`)
const OK = answer('200 OK')
const UNAVAILABLE = answer('503 Service Unavailable')
const FAILED = answer('500 Internal Server Error')

/**
 * @typedef {{ number: number, at: number, path: string, runId: string, taskId: string, attempt: number, dueAt: number }} Call
 * @typedef {{ port: number, url: string, kind: string, ms: number, server: import('node:net').Server, calls: Call[], received: number,
 *   connections: number, underWay: number, mostUnderWay: number, held: Set<() => void>, sockets: Set<import('node:net').Socket>, isListening: boolean }} Target
 */

/** @type {Map<string, Target>} */
const targets = new Map()
let underWay = 0
let mostUnderWay = 0
/** Calls so far, over all targets. */
let count = 0

/** What each kind does with a request that it has read; `done` says that its call is over. */
const BEHAVIOURS = {
  healthy: (socket, done) => reply(socket, OK, done),
  slow: (socket, done, target) => setTimeout(() => reply(socket, OK, done), target.ms),
  silent: (socket, done, target) => target.held.add(() => reply(socket, OK, done)),
  unavailable: (socket, done) => reply(socket, UNAVAILABLE, done),
  fails: (socket, done) => reply(socket, FAILED, done),
  resets: (socket) => socket.resetAndDestroy(),
}

function reply(socket, bytes, done) {
  done()
  if (!socket.destroyed) socket.write(bytes)
}

/** @param {Target} target */
const receive = (target) => (/** @type {import('node:net').Socket} */ socket) => {
  target.connections++
  target.sockets.add(socket)
  const open = new Set()
  let rest = ''
  socket.setNoDelay(true)
  socket.on('error', () => {})
  socket.on('close', () => {
    target.sockets.delete(socket)
    for (const done of open) done()
  })
  if (target.kind === 'closes') return socket.destroy()
  socket.on('data', (chunk) => {
    if (target.kind === 'garbage') return socket.write('this is not TLS at all\r\n\r\n')
    rest += chunk.toString('latin1')
    for (let head = rest.indexOf(END_OF_HEAD); head >= 0; head = rest.indexOf(END_OF_HEAD)) {
      const end = head + END_OF_HEAD.length + bodyLength(rest, head)
      if (rest.length < end) return
      const done = begin(target, rest.slice(0, head), open)
      rest = rest.slice(end)
      BEHAVIOURS[target.kind]?.(socket, done, target)
    }
  })
}

/** Records a call; the returned function records its end, once. */
function begin(target, head, open) {
  note(target, head)
  target.mostUnderWay = Math.max(target.mostUnderWay, ++target.underWay)
  mostUnderWay = Math.max(mostUnderWay, ++underWay)
  const done = () => {
    if (!open.delete(done)) return
    target.underWay--
    underWay--
  }
  open.add(done)
  return done
}

function note(target, head) {
  target.received++
  const header = (name) => new RegExp(`\\r\\n${name}: *(\\S+)`, 'i').exec(head)?.[1] ?? ''
  target.calls.push({
    number: ++count,
    at: Date.now(),
    path: head.split(' ', 2)[1] ?? '',
    runId: header('webhook-id'),
    taskId: header('belfry-task-id'),
    attempt: Number(header('belfry-attempt')),
    dueAt: Date.parse(header('belfry-scheduled-for')),
  })
}

function bodyLength(text, head) {
  const found = /\r\ncontent-length: *(\d+)/i.exec(text.slice(0, head))
  return found ? Number(found[1]) : 0
}

const listen = (target, port) =>
  new Promise((resolve, reject) => {
    target.server.once('error', reject)
    target.server.listen({ port, host: '127.0.0.1', backlog: 4_096 }, resolve)
  })

async function openOne(kind, ms) {
  const target = { kind, ms, calls: [], received: 0, connections: 0 }
  Object.assign(target, {
    underWay: 0,
    mostUnderWay: 0,
    held: new Set(),
    sockets: new Set(),
    isListening: true,
  })
  target.server = createServer(receive(target))
  await listen(target, 0)
  target.port = target.server.address().port
  target.url = `${kind === 'garbage' ? 'https' : 'http'}://127.0.0.1:${target.port}`
  targets.set(target.url, target)
  await listenOrNot(target)
  return target.url
}

/** Listens, unless the target's kind refuses connections. */
async function listenOrNot(target) {
  const isListening = target.kind !== 'refuses'
  if (isListening === target.isListening) return
  target.isListening = isListening
  if (isListening) await listen(target, target.port)
  else target.server.close()
}

const METHODS = {
  /** Opens targets of one kind; answers their addresses. */
  open: async ({ kind, count = 1, ms = 0 }) => {
    const urls = []
    for (let i = 0; i < count; i++) urls.push(await openOne(kind, ms))
    return urls
  },
  /** Changes the behavior of a target from now on; calls that it holds stay held. */
  behave: async ({ url, kind, ms = 0 }) => {
    const target = targets.get(url)
    Object.assign(target, { kind, ms })
    // A target that no longer accepts connections has none either.
    if (!(kind in BEHAVIOURS)) for (const socket of target.sockets) socket.destroy()
    await listenOrNot(target)
  },
  /** Answers what a target holds, or a number of them, the oldest first. */
  release: ({ url, count = Number.POSITIVE_INFINITY }) => {
    const { held } = targets.get(url)
    for (const answerIt of [...held].slice(0, count)) {
      held.delete(answerIt)
      answerIt()
    }
  },
  read: ({ url }) => {
    const { calls, received, connections, underWay, mostUnderWay } = targets.get(url)
    return { calls, received, connections, underWay, mostUnderWay }
  },
  underWay: () => ({ underWay, mostUnderWay }),
}

process.on('message', async ({ id, method, args }) => {
  try {
    process.send({ id, result: await METHODS[method](args) })
  } catch (error) {
    process.send({ id, error: error.stack ?? String(error) })
  }
})
// The parent process has ended.
process.on('disconnect', () => process.exit())
