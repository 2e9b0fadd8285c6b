import type { ServerResponse } from 'node:http'

/**
 * Calls back once a response has ended or its client has disconnected; at once if that happened already, while the caller
 * awaited something else. A listener added then would never be called, and what it releases would be lost.
 */
export function onceClosed(response: ServerResponse, callback: () => void): void {
  if (response.destroyed) callback()
  else response.once('close', callback)
}
