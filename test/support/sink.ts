import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { whenDone } from './cleanup.ts'

export interface Hit {
  readonly at: number
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: string
}

/** A real HTTP server that notes what it receives and answers as told. */
export async function startSink(
  answer: (
    hit: Hit,
    count: number,
  ) => { status: number; headers?: Record<string, string>; body?: string } = () => ({ status: 200 }),
) {
  const hits: Hit[] = []
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const hit = {
        at: Date.now(),
        method: request.method ?? '',
        path: request.url ?? '',
        headers: request.headers,
        body: Buffer.concat(chunks).toString(),
      }
      hits.push(hit)
      const { status, headers = {}, body = '' } = answer(hit, hits.length)
      response.writeHead(status, headers).end(body)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  whenDone(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, hits }
}
