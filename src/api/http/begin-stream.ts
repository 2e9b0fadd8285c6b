import type { ServerResponse } from 'node:http'

/** A comment is sent this often, so that proxies do not close an idle stream. */
export const BEAT_MS = 15_000

/** Begins a response of server-sent events, which lasts until either side ends it. */
export function beginStream(response: ServerResponse, headers: Readonly<Record<string, string>>): void {
  response.on('error', () => response.destroy())
  response.writeHead(200, {
    'content-type': 'text/event-stream',
    'cache-control': 'no-store',
    // A proxy that buffers the response would delay events.
    'x-accel-buffering': 'no',
    connection: 'close',
    ...headers,
  })
}
