import type { ServerResponse } from 'node:http'

/**
 * Calls back once a response has ended or its client is gone: at once if that has happened already, while something else was awaited.
 * A listener that is added then would never be called, and what it gives back would be lost forever.
 */
export function onceClosed(response: ServerResponse, callback: () => void): void {
  if (response.destroyed) callback()
  else response.once('close', callback)
}
