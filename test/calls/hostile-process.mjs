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
  '/smuggled': (socket) =>
    socket.write(
      'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nokHTTP/1.1 500 No\r\ncontent-length: 0\r\n\r\n',
    ),
}

const server = createServer((socket) => {
  socket.on('error', () => {})
  socket.on('data', (data) => {
    const [, path = ''] = /^[A-Z]+ (\S+) HTTP/.exec(data.toString('latin1')) ?? []
    HARMS[path]?.(socket)
  })
})
process.on('message', () => process.send?.({ heard: true }))
process.on('disconnect', () => process.exit())
setInterval(() => process.send?.({ poured }), 200).unref()
server.listen(0, '127.0.0.1', () => process.send?.({ port: server.address().port }))
