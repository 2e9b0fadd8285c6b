/**
 * Requests to Belfry, over connections that are kept. Any of the servers will do: when one does not answer, the next
 * is asked. Built on Node's own client, because this runs in other people's processes and brings nothing along.
 */
import http from 'node:http'
import https from 'node:https'

/** What JSON can be. */
export type Json = unknown

/** The server has answered, and refuses. */
export class Refused extends Error {
  override readonly name = 'Refused'
  readonly status: number
  /** Stable; Belfry's documentation has the list. */
  readonly code: string

  constructor(status: number, code: string, detail: string) {
    super(detail)
    this.status = status
    this.code = code
  }
}

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

export class Connection {
  readonly servers: readonly string[]
  readonly #agents = {
    'http:': new http.Agent({ keepAlive: true }),
    'https:': new https.Agent({ keepAlive: true }),
  }
  #current = 0

  constructor(servers: readonly string[]) {
    if (servers.length === 0) throw new TypeError('server must name at least one address')
    for (const server of servers) {
      const { protocol } = parsed(server)
      if (protocol !== 'http:' && protocol !== 'https:')
        throw new TypeError(`server must begin with http:// or https://, not ${protocol}`)
    }
    this.servers = servers
  }

  /** Sends a request once. Throws `Refused`, or whatever the network had to say. */
  async post(path: string, body: Json, options: PostOptions = {}): Promise<Json> {
    const server = this.servers[this.#current % this.servers.length] ?? ''
    try {
      return await this.#send(new URL(path, server), storable(JSON.stringify(body)), options)
    } catch (error) {
      if (!(error instanceof Refused) || error.status >= 500) this.#current++
      throw error
    }
  }

  /** Sends a request until it is answered: it must be one that may be repeated. Only a refusal ends it, or `signal`. */
  async insist(path: string, body: Json, options: InsistOptions = {}): Promise<Json> {
    for (let failures = 0; ; failures++) {
      try {
        return await this.post(path, body, options)
      } catch (error) {
        if (
          options.signal?.aborted ||
          (error instanceof Refused && error.status < 500 && error.status !== 429)
        )
          throw error
        const longest = Math.min(BACKOFF_MS.longest, BACKOFF_MS.first * 2 ** Math.min(failures, 10))
        // Every other one right away at another server, if there are several.
        const isElsewhere = this.servers.length > 1 && failures % this.servers.length === 0
        options.onFailure?.(error instanceof Error ? error.message : String(error))
        await pause(isElsewhere ? 1 : longest * (0.5 + Math.random() / 2), options.signal)
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
            if (bytes > MAX_ANSWER_BYTES) sent.destroy(new Error('the answer is too large'))
          })
          answer.on('error', (error) => {
            clearTimeout(late)
            reject(error)
          })
          answer.on('end', () => {
            clearTimeout(late)
            settle(answer.statusCode ?? 0, Buffer.concat(chunks).toString('utf8'), resolve, reject)
          })
        },
      )
      const late = setTimeout(
        () => sent.destroy(new Error(`${url.origin} has not answered within ${timeoutMs} ms`)),
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
  status: number,
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
  if (status >= 200 && status < 300 && answer !== undefined) resolve(answer)
  else
    reject(
      new Refused(status, answer?.code ?? 'unreadable', answer?.detail ?? `the server answered ${status}`),
    )
}

/** Belfry stores neither NUL nor half a surrogate pair; both are shown as the replacement character. */
function storable(json: string): string {
  if (!json.includes('\\u')) return json
  return json.replace(ESCAPES, (whole, slashes: string, code: string) =>
    slashes.length % 2 === 1 && (code === '0000' || /^d[89a-f]/i.test(code))
      ? `${slashes.slice(1)}\\ufffd`
      : whole,
  )
}

/** `JSON.stringify` escapes nothing but control characters and lone surrogates as four digits. */
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
