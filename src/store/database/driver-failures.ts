import type { Duplex } from 'node:stream'

/**
 * Ends the connection if the driver throws while it reads a response, so that the statement in progress fails like any other.
 * Otherwise, the error would be thrown in the socket's data handler, where nothing can catch it, and the process would end. A
 * response that exceeds the maximum length of a string is such a case.
 */
export function failInsteadOfThrowing(client: unknown): void {
  const { stream } = (client as { readonly connection: { readonly stream: Duplex } }).connection
  const listeners = stream.listeners('data') as ((bytes: Buffer) => void)[]
  stream.removeAllListeners('data')
  stream.on('data', (bytes: Buffer) => {
    try {
      for (const listener of listeners) listener.call(stream, bytes)
    } catch (error) {
      stream.destroy(error instanceof Error ? error : new Error(String(error)))
    }
  })
}
