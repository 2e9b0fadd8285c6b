/** A node of which it is known for how long its event loop was held up, and how much memory it took. */
import { readFileSync, writeFileSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { fileURLToPath } from 'node:url'
import { createTestDatabase } from '../support/database.ts'
import { type Belfry, startBelfry } from '../support/process.ts'

const PROBE = fileURLToPath(new URL('probe.mjs', import.meta.url))

/** What an operation did to the process that carried it out. */
export interface Watched<T> {
  readonly result: T
  /** The longest stretch on end without a turn for anybody else, in processor time. */
  readonly heldMs: number
  /** The most memory that the process had, beyond what it had before. */
  readonly grewBytes: number
}

export interface Answer {
  readonly status: number
  readonly text: string
}

export interface WatchedNode {
  readonly node: Belfry
  readonly db: Awaited<ReturnType<typeof createTestDatabase>>['db']
  /** A body that is text is sent as it is. */
  send(method: string, path: string, body?: unknown, token?: string): Promise<Answer>
  watch<T>(work: () => Promise<T>): Promise<Watched<T>>
}

export async function startWatchedNode(args: readonly string[] = []): Promise<WatchedNode> {
  const { url, db } = await createTestDatabase()
  const node = await startBelfry(['--database-url', url, ...args], { nodeArgs: ['--import', PROBE] })
  const agent = new Agent({ keepAlive: true })
  let asked = 0
  return {
    node,
    db,
    send: (method, path, body, token) => send({ method, url: new URL(path, node.url), body, token, agent }),
    watch: async (work) => {
      await longestTurn(node, ++asked)
      const before = memory(node.pid, 'VmRSS')
      writeFileSync(`/proc/${node.pid}/clear_refs`, '5')
      const result = await work()
      const heldMs = await longestTurn(node, ++asked)
      return { result, heldMs, grewBytes: memory(node.pid, 'VmHWM') - before }
    },
  }
}

/** Asks the probe. */
async function longestTurn(node: Belfry, times: number): Promise<number> {
  node.kill('SIGUSR2')
  const [, ms] = await node.said(new RegExp(`^loop ${times}: (\\S+) ms$`, 'm'), 'stderr')
  return Number(ms)
}

function memory(pid: number, name: 'VmRSS' | 'VmHWM'): number {
  const [, kilobytes] =
    new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
  return Number(kilobytes) * 1024
}

interface Sending {
  readonly method: string
  readonly url: URL
  readonly body: unknown
  readonly token: string | undefined
  readonly agent: Agent
}

function send({ method, url, body, token, agent }: Sending): Promise<Answer> {
  const text = body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body)
  const headers =
    text === undefined
      ? {}
      : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }
  const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` }
  return new Promise((resolve, reject) => {
    const call = request(url, { method, agent, headers: { ...headers, ...authorization } }, (answer) => {
      const chunks: Buffer[] = []
      answer.on('data', (chunk: Buffer) => chunks.push(chunk))
      answer.on('end', () =>
        resolve({ status: answer.statusCode ?? 0, text: Buffer.concat(chunks).toString() }),
      )
    })
    call.on('error', reject)
    call.end(text)
  })
}
