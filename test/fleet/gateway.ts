/** Stands between a worker and its server, and keeps one message from arriving: at that moment a test can kill the worker. */
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { pipeline } from 'node:stream'
import { whenFileEnds } from '../support/file-end.ts'

/** What does not arrive: the answer to a claim that found a run, the second half of a file, or a report. */
export type Withheld = 'claim' | 'download' | 'report' | null

export interface Gateway {
  readonly url: string
  /** Resolves when it was withheld. */
  readonly withheld: Promise<void>
}

const gateways = new Set<Server>()
whenFileEnds(async () => {
  for (const gateway of gateways) {
    gateway.closeAllConnections()
    gateway.close()
  }
  gateways.clear()
})

export async function startGateway(server: string, what: Withheld): Promise<Gateway> {
  let withhold = () => {}
  const withheld = new Promise<void>((resolve) => {
    withhold = resolve
  })
  const gateway = createServer(async (incoming, answer) => {
    const { method, headers, url = '' } = incoming
    if (what === 'report' && url === '/v1/worker/complete') return withhold()
    const outgoing = request(`${server}${url}`, { method, headers })
    outgoing.on('error', () => answer.destroy())
    answer.on('close', () => outgoing.destroy())
    incoming.pipe(outgoing)
    const response = await new Promise<IncomingMessage>((resolve) => outgoing.once('response', resolve))
    const isClaim = what === 'claim' && url === '/v1/worker/claim'
    const isDownload = what === 'download' && method === 'GET'
    if (!isClaim && !isDownload) return passOn(response, answer)
    const bytes = Buffer.concat(await response.toArray())
    const isWanted = isDownload || JSON.parse(bytes.toString()).runs.length > 0
    answer.writeHead(response.statusCode ?? 502, response.headers)
    if (!isWanted) answer.end(bytes)
    else {
      if (isDownload) answer.write(bytes.subarray(0, bytes.length / 2))
      withhold()
    }
  })
  await new Promise<void>((resolve) => void gateway.listen(0, '127.0.0.1', resolve))
  gateways.add(gateway)
  return { url: `http://127.0.0.1:${(gateway.address() as AddressInfo).port}`, withheld }
}

function passOn(response: IncomingMessage, answer: ServerResponse): void {
  answer.writeHead(response.statusCode ?? 502, response.headers)
  // What is cut off on one side is cut off on the other.
  pipeline(response, answer, () => {})
}
