/** Sends each request to the next of several servers, as a balancer without stickiness does. */
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { pipeline } from 'node:stream'
import { whenDone } from './cleanup.ts'

/** Whether tests of the API ask two servers in turn, in place of one: `npm run suite balancer`. */
export const IS_BALANCED = process.env['BELFRY_TEST_BALANCED'] === 'true'

export interface Balancer {
  readonly url: string
  /** The servers that receive requests in turn. */
  readonly servers: string[]
}

export async function startBalancer(): Promise<Balancer> {
  const servers: string[] = []
  let turn = 0
  const balancer = createServer((incoming, answer) => {
    const server = servers[turn++ % servers.length] ?? ''
    const { method, headers, url } = incoming
    const outgoing = request(`${server}${url}`, { method, headers }, (response) => {
      answer.writeHead(response.statusCode ?? 502, response.headers)
      // What is cut off on one side is cut off on the other.
      pipeline(response, answer, () => {})
    })
    outgoing.on('error', () => answer.destroy())
    answer.on('close', () => outgoing.destroy())
    incoming.pipe(outgoing)
  })
  await new Promise<void>((resolve) => void balancer.listen(0, '127.0.0.1', resolve))
  whenDone(() => {
    balancer.closeAllConnections()
    balancer.close()
  })
  return { url: `http://127.0.0.1:${(balancer.address() as AddressInfo).port}`, servers }
}
