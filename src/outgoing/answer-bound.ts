import type { Socket } from 'node:net'
import type { Connector } from './address-guard.ts'
import { ProtocolViolation } from './http-failure.ts'

/**
 * Maximum total size of a response on the wire. Heads and bodies have lower limits and are cut off earlier; this one covers
 * bytes that the parser does not report, such as an endless chunk extension.
 */
export const MAX_ANSWER_BYTES = 4 * 1024 * 1024

/**
 * Wraps a connector so that its sockets fail when a response exceeds the limit. A response is counted from the last write of a
 * request.
 */
export function boundingAnswers(connect: Connector): Connector {
  return (options, callback) =>
    connect(options, (...result) => {
      const [, socket] = result
      if (socket !== null) bound(socket)
      callback(...result)
    })
}

function bound(socket: Socket): void {
  const read = socket.read.bind(socket)
  const write = socket.write.bind(socket) as (...args: unknown[]) => boolean
  let received = 0
  socket.write = ((...args: unknown[]) => {
    received = 0
    return write(...args)
  }) as Socket['write']
  socket.read = (size?: number) => {
    const chunk: Buffer | null = read(size)
    received += chunk?.length ?? 0
    if (received > MAX_ANSWER_BYTES)
      socket.destroy(new ProtocolViolation(`an answer of more than ${MAX_ANSWER_BYTES} bytes`))
    return chunk
  }
}
