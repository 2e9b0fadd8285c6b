import type { Socket } from 'node:net'
import type { Connector } from './address-guard.ts'
import { ProtocolViolation } from './http-failure.ts'

/**
 * All that one answer may come to on the wire. Heads and bodies have tighter bounds of their own and are cut before; this
 * one is for what the parser never speaks of, such as an extension of a chunk that has no end.
 */
export const MAX_ANSWER_BYTES = 4 * 1024 * 1024

/** A connector whose sockets end an answer that is larger than any may be. An answer begins when a request is written. */
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
