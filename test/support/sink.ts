import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { whenDone } from './cleanup.ts'
import { whenFileEnds } from './file-end.ts'

export interface Hit {
  readonly at: number
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: string
}

type AnswerTo = (
  hit: Hit,
  count: number,
) => { status: number; headers?: Record<string, string>; body?: string }

const untilFileEnds = new Set<() => void>()
whenFileEnds(async () => {
  for (const close of untilFileEnds) close()
  untilFileEnds.clear()
})

/** A real HTTP server that notes what it receives and answers as told. */
export const startSink = (answer?: AnswerTo) => openSink(whenDone, answer)

/** Starts a sink for tests that run concurrently: it closes at the end of the file, because no single test is the running one. */
export const startSharedSink = (answer?: AnswerTo) => openSink((close) => untilFileEnds.add(close), answer)

async function openSink(onEnd: (close: () => void) => unknown, answer: AnswerTo = () => ({ status: 200 })) {
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
  onEnd(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, hits }
}
