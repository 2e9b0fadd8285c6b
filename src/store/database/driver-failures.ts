import type { Duplex } from 'node:stream'

/**
 * Whatever the driver throws while it reads an answer is thrown where a socket hands over its bytes: nobody can catch it
 * there, and the process would end. An answer that is longer than a string can be is such a case. The connection is ended
 * with it instead, and so the statement that was under way fails with it like any other.
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
