import type { ServerResponse } from 'node:http'

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
