/**
 * A receiver that means harm, in a process of its own: raw TCP, so that nothing about its answers has to be HTTP. The path
 * of a request says which harm. Its parent hears how many bytes it could pour, and when it has answered one that behaved.
 */
import { createServer } from 'node:net'
import { gzipSync } from 'node:zlib'

const MIB = 1024 * 1024
const chunk = Buffer.alloc(64 * 1024, 'x')
const bomb = gzipSync(Buffer.alloc(200 * MIB))
let poured = 0

/** Writes for ever, as fast as the other end takes it. */
function pour(socket, next) {
  const go = () => {
    while (!socket.destroyed) {
      const piece = next()
      poured += piece.length
      if (!socket.write(piece)) return
    }
  }
  socket.on('drain', go)
  go()
}

const redirect = (socket, to) =>
  socket.write(`HTTP/1.1 302 On\r\nlocation: ${to}\r\ncontent-length: 0\r\n\r\n`)

/** Writes a little, again and again. */
function drip(socket, piece) {
  const timer = setInterval(() => socket.write(piece), 20)
  socket.on('close', () => clearInterval(timer))
}

const HARMS = {
  '/fine': (socket) => socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'),
  '/endless': (socket) => {
    socket.write('HTTP/1.1 200 OK\r\n\r\n')
    pour(socket, () => chunk)
  },
  '/endless-error': (socket) => {
    socket.write('HTTP/1.1 500 Oh\r\n\r\n')
    pour(socket, () => chunk)
  },
  '/endless-pieces': (socket) => {
    socket.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n')
    pour(socket, () => Buffer.from('1\r\nx\r\n'.repeat(1_000)))
  },
  '/endless-head': (socket) => {
    socket.write('HTTP/1.1 200 OK\r\n')
    pour(socket, () => Buffer.from('x: y\r\n'.repeat(10_000)))
  },
  '/many-headers': (socket) => socket.write(`HTTP/1.1 200 OK\r\n${'x: y\r\n'.repeat(100_000)}\r\n`),
  '/long-header': (socket) => socket.write(`HTTP/1.1 200 OK\r\nx: ${'y'.repeat(MIB)}\r\n\r\n`),
  '/endless-interim': (socket) => pour(socket, () => Buffer.from('HTTP/1.1 103 Early\r\n\r\n'.repeat(100))),
  '/drip': (socket) => {
    socket.write('HTTP/1.1 200 OK\r\n\r\n')
    drip(socket, '.')
  },
  '/drip-head': (socket) => {
    socket.write('HTTP/1.1 200 OK\r\nx: ')
    drip(socket, '.')
  },
  '/silent': () => {},
  '/bomb': (socket) => {
    socket.write(`HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: ${bomb.length}\r\n\r\n`)
    socket.write(bomb)
  },
  '/loop': (socket) => socket.write('HTTP/1.1 302 On\r\nlocation: /loop\r\ncontent-length: 0\r\n\r\n'),
  '/reset': (socket) => {
    socket.write('HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\nsome')
    // Data and reset together look like an end to who reads them.
    setTimeout(() => socket.resetAndDestroy(), 50)
  },
  '/cut': (socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\nsome'),
  '/nothing': (socket) => socket.end(),
  '/garbage': (socket) => socket.write('\x16\x03\x01 this is not HTTP \r\n\r\n'),
  '/negative': (socket) => socket.write('HTTP/1.1 200 OK\r\ncontent-length: -5\r\n\r\n'),
  '/two-framings': (socket) =>
    socket.write('HTTP/1.1 200 OK\r\ncontent-length: 3\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n'),
  '/huge-chunk': (socket) =>
    socket.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nffffffffffffffffff\r\nx'),
  '/long-status': (socket) => socket.write(`HTTP/1.1 200 ${'x'.repeat(MIB)}\r\n\r\n`),
  '/version': (socket) => socket.write('HTTP/9.9 200 OK\r\ncontent-length: 0\r\n\r\n'),
  '/http2': (socket) => socket.write(Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0])),
  '/status-only': (socket) => socket.write('HTTP/1.1\r\n\r\n'),
  '/status-word': (socket) => socket.write('HTTP/1.1 abc OK\r\n\r\n'),
  '/status-999': (socket) => socket.write('HTTP/1.1 999 X\r\ncontent-length: 0\r\n\r\n'),
  '/nul-header': (socket) => socket.write('HTTP/1.1 200 OK\r\nx: a\0b\r\ncontent-length: 0\r\n\r\n'),
  '/space-in-name': (socket) => socket.write('HTTP/1.1 200 OK\r\nx y: z\r\ncontent-length: 0\r\n\r\n'),
  '/bare-newline': (socket) => socket.write('HTTP/1.1 200 OK\ncontent-length: 0\n\n'),
  '/two-lengths': (socket) =>
    socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\nabc'),
  '/length-in-words': (socket) => socket.write('HTTP/1.1 200 OK\r\ncontent-length: two\r\n\r\nab'),
  '/length-overflow': (socket) =>
    socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${'9'.repeat(40)}\r\n\r\nab`),
  '/length-of-a-disk': (socket) => {
    socket.write('HTTP/1.1 200 OK\r\ncontent-length: 999999999999\r\n\r\n')
    pour(socket, () => chunk)
  },
  '/chunk-in-words': (socket) => socket.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\nx'),
  '/endless-extension': (socket) => {
    socket.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1;')
    pour(socket, () => chunk)
  },
  '/endless-trailers': (socket) => {
    socket.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n')
    pour(socket, () => Buffer.from('x: y\r\n'.repeat(10_000)))
  },
  '/switching': (socket) => socket.write('HTTP/1.1 101 On\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n'),
  '/drip-interim': (socket) => drip(socket, 'HTTP/1.1 100 Go on\r\n\r\n'),
  '/drip-chunks': (socket) => {
    socket.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n')
    drip(socket, '1\r\nx\r\n')
  },
  '/nothing-with-body': (socket) => socket.write(`HTTP/1.1 204 No\r\n\r\n${'x'.repeat(10_000)}`),
  '/reset-at-once': (socket) => socket.resetAndDestroy(),
  '/cut-head': (socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-le'),
  '/cut-chunk': (socket) => socket.end('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\na\r\nsome'),
  '/to-nowhere': (socket) => redirect(socket, 'http://'),
  '/to-ftp': (socket) => redirect(socket, 'ftp://127.0.0.1/'),
  '/to-user': (socket) => redirect(socket, 'http://root:root@127.0.0.1/'),
  '/to-metadata': (socket) => redirect(socket, 'http://169.254.169.254/latest'),
  '/to-and': (socket) => redirect(socket, '/fro'),
  '/fro': (socket) => redirect(socket, '/to-and'),
  '/later': (socket) => socket.write('HTTP/1.1 503 X\r\nretry-after: soon\r\ncontent-length: 0\r\n\r\n'),
  '/not-brotli': (socket) =>
    socket.write('HTTP/1.1 200 OK\r\ncontent-encoding: br\r\ncontent-length: 7\r\n\r\nnothing'),
  '/not-text': (socket) =>
    socket.write(
      Buffer.concat([
        Buffer.from('HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\n'),
        Buffer.from([0xff, 0xfe, 0xc3, 0x28]),
      ]),
    ),
  '/nul-text': (socket) => socket.write('HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\na\0b\0c'),
  '/deep': (socket) =>
    socket.write(
      `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 100000\r\n\r\n${'['.repeat(100_000)}`,
    ),
  '/unread': (socket) => socket.pause(),
  '/smuggled': (socket) =>
    socket.write(
      'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nokHTTP/1.1 500 No\r\ncontent-length: 0\r\n\r\n',
    ),
}

const startServer = () =>
  new Promise((resolve) => {
    const server = createServer(answer)
    server.listen(0, '127.0.0.1', () => resolve(server.address().port))
  })

function answer(socket) {
  socket.on('error', () => {})
  socket.on('data', (data) => {
    const [, path = ''] = /^[A-Z]+ (\S+) HTTP/.exec(data.toString('latin1')) ?? []
    HARMS[path]?.(socket)
  })
}
process.on('message', () => process.send?.({ heard: true }))
process.on('disconnect', () => process.exit())
setInterval(() => process.send?.({ poured }), 200).unref()
// Each harm has a port of its own besides the one that knows them all, so that none spoils the connections of another.
const ports = {}
for (const path of Object.keys(HARMS)) ports[path] = await startServer()
process.send?.({ ports })
process.send?.({ port: await startServer() })
