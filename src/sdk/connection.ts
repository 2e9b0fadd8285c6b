/**
 * Requests to Belfry over persistent connections. All servers are equivalent: if one does not respond, the next one is used.
 * Built on Node's own HTTP client without dependencies, because it runs in other people's processes.
 */
import http from 'node:http'
import https from 'node:https'
import { isFinal, Refused } from './refused.ts'

/** Any JSON value. */
export type Json = unknown

export interface PostOptions {
  readonly token?: string
  readonly signal?: AbortSignal
  readonly timeoutMs?: number
}

export interface InsistOptions extends PostOptions {
  onFailure?(why: string): void
}

const TIMEOUT_MS = 15_000
const MAX_ANSWER_BYTES = 64 * 1024 * 1024
const BACKOFF_MS = { first: 100, longest: 5_000 }
const LONGEST_RETRY_AFTER_MS = 60_000

export class Connection {
  readonly servers: readonly string[]
  readonly #agents: { readonly 'http:': http.Agent; readonly 'https:': https.Agent }
  #current = 0

  /** `ca`: certificates to trust instead of those of Node.js. */
  constructor(servers: readonly string[], ca?: string) {
    this.#agents = {
      'http:': new http.Agent({ keepAlive: true }),
      'https:': new https.Agent({ keepAlive: true, ...(ca === undefined ? {} : { ca }) }),
    }
    if (servers.length === 0) throw new TypeError('server must contain at least one address')
    for (const server of servers) {
      const { protocol } = parsed(server)
      if (protocol !== 'http:' && protocol !== 'https:')
        throw new TypeError(`server must start with http:// or https://, not ${protocol}`)
    }
    this.servers = servers
  }

  /** Sends a request once. Throws `Refused` or a network error. */
  async post(path: string, body: Json, options: PostOptions = {}): Promise<Json> {
    const server = this.servers[this.#current % this.servers.length] ?? ''
    try {
      return await this.#send(new URL(path, server), storable(JSON.stringify(body)), options)
    } catch (error) {
      if (!(error instanceof Refused) || error.status >= 500) this.#current++
      throw error
    }
  }

  /** Repeats a request until it succeeds; the request must be idempotent. Only a final error or `signal` ends it. */
  async insist(path: string, body: Json, options: InsistOptions = {}): Promise<Json> {
    for (let failures = 0; ; failures++) {
      try {
        return await this.post(path, body, options)
      } catch (error) {
        if (options.signal?.aborted || (error instanceof Refused && isFinal(error))) throw error
        const longest = Math.min(BACKOFF_MS.longest, BACKOFF_MS.first * 2 ** Math.min(failures, 10))
        // With several servers, the first retry goes to another server without delay.
        const isElsewhere = this.servers.length > 1 && failures % this.servers.length === 0
        options.onFailure?.(error instanceof Error ? error.message : String(error))
        const askedMs = error instanceof Refused && error.status === 429 ? error.retryAfterMs : 0
        const waitMs = Math.max(isElsewhere ? 1 : longest, askedMs)
        await pause(waitMs * (0.5 + Math.random() / 2) + askedMs / 2, options.signal)
      }
    }
  }

  close(): void {
    for (const agent of Object.values(this.#agents)) agent.destroy()
  }

  #send(url: URL, text: string, { token, signal, timeoutMs = TIMEOUT_MS }: PostOptions): Promise<Json> {
    const protocol = url.protocol as 'http:' | 'https:'
    const { request } = protocol === 'https:' ? https : http
    return new Promise((resolve, reject) => {
      const sent = request(
        url,
        {
          method: 'POST',
          agent: this.#agents[protocol],
          headers: {
            'content-type': 'application/json',
            'content-length': Buffer.byteLength(text),
            ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
          },
          ...(signal ? { signal } : {}),
        },
        (answer) => {
          const chunks: Buffer[] = []
          let bytes = 0
          answer.on('data', (chunk: Buffer) => {
            chunks.push(chunk)
            bytes += chunk.length
            if (bytes > MAX_ANSWER_BYTES) sent.destroy(new Error('the response is too large'))
          })
          answer.on('error', (error) => {
            clearTimeout(late)
            reject(error)
          })
          answer.on('end', () => {
            clearTimeout(late)
            settle(answer, Buffer.concat(chunks).toString('utf8'), resolve, reject)
          })
        },
      )
      const late = setTimeout(
        () => sent.destroy(new Error(`${url.origin} did not respond within ${timeoutMs} ms`)),
        timeoutMs,
      )
      sent.on('error', (error) => {
        clearTimeout(late)
        reject(error)
      })
      sent.end(text)
    })
  }
}

function settle(
  { statusCode: status = 0, headers }: http.IncomingMessage,
  text: string,
  resolve: (answer: Json) => void,
  reject: (error: Error) => void,
): void {
  let answer: { code?: string; detail?: string } | undefined
  try {
    answer = JSON.parse(text)
  } catch {
    answer = undefined
  }
  const isSuccess = status >= 200 && status < 300
  if (isSuccess && answer !== undefined) resolve(answer)
  // The response was damaged, so it counts as none.
  else if (isSuccess) reject(new Error('the response is not valid'))
  else {
    const { code = 'unreadable', detail = `the server answered ${status}` } = answer ?? {}
    reject(new Refused(status, code, detail, retryAfterMs(headers['retry-after'])))
  }
}

function retryAfterMs(header: string | undefined): number {
  const seconds = Number(header)
  return seconds > 0 ? Math.min(seconds * 1_000, LONGEST_RETRY_AFTER_MS) : 0
}

/** Belfry stores neither NUL nor lone surrogates; both are replaced with the replacement character. */
function storable(json: string): string {
  if (!json.includes('\\u')) return json
  return json.replace(ESCAPES, (whole, slashes: string, code: string) =>
    slashes.length % 2 === 1 && (code === '0000' || /^d[89a-f]/i.test(code))
      ? `${slashes.slice(1)}\\ufffd`
      : whole,
  )
}

/** `JSON.stringify` uses four-digit escapes only for control characters and lone surrogates. */
const ESCAPES = /(\\+)u([0-9a-f]{4})/g

function parsed(server: string): URL {
  try {
    return new URL(server)
  } catch {
    throw new TypeError(`server must be an address such as http://127.0.0.1:3369, not '${server}'`)
  }
}

function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', end)
      resolve()
    }
    const timer = setTimeout(end, ms)
    signal?.addEventListener('abort', end)
  })
}
