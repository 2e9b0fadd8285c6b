/** HTTP client of a Belfry server. Every failure, including network errors, is a `CliError`. */

import { readFileSync } from 'node:fs'
import { PROJECT_HEADER } from '../../core/access/project-header.ts'
import { REASON_HEADER } from '../../core/audit-log/reason.ts'
import { CLOCK_DOUBT_MS } from '../../core/values/clock-doubt.ts'
import { DEFAULT_SERVER } from '../../core/values/default-server.ts'
import { readUrl } from '../../core/values/read-url.ts'
import { ConfigError } from '../../runtime/config/config-error.ts'
import { readSecretFile } from '../../runtime/config/secret-file.ts'
import { CliError, EXIT } from '../exit.ts'
import { type HttpAnswer, sendHttp } from './http.ts'
import { type Problem, RefusedError } from './problem.ts'

export const SERVER_VARIABLE = 'BELFRY_URL'
/** Longer than the server takes for any request, so that the server's own timeout comes first. */
const TIMEOUT_MS = 35_000

/** A successful response. */
export interface Answer<T> {
  readonly data: T
  readonly etag: string | null
}

export interface RequestOptions {
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

interface SendOptions {
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | AsyncIterable<Buffer>
  /** Default: a timeout of `TIMEOUT_MS`. */
  readonly signal?: AbortSignal
}

/** Returns the address of the server: from the flag, else from the environment variable, else this machine. */
export function serverUrl(flag: string | undefined, env: NodeJS.ProcessEnv): string {
  const given = flag ?? env[SERVER_VARIABLE] ?? ''
  const [text, name] = [
    given === '' ? DEFAULT_SERVER : given,
    flag === undefined ? SERVER_VARIABLE : '--server',
  ]
  const url = readUrl(text)
  if (url && (url.username !== '' || url.password !== ''))
    throw new CliError(
      `${name} contains a user name or password, which Belfry does not use.`,
      'Leave it out, and pass an API key with --api-key or BELFRY_KEY.',
      EXIT.usage,
    )
  if (url === null || !/^https?:$/.test(url.protocol) || url.search !== '' || url.hash !== '')
    throw new CliError(
      `${name} is '${text}'; it must be an address such as ${DEFAULT_SERVER}.`,
      'Use the address that belfry start printed.',
      EXIT.usage,
    )
  return url.href.replace(/\/+$/, '')
}

/**
 * Returns the API key, or the token for a proxy in front of the server; null if there is none. `TOKEN` is the name used by
 * 0.1.0.
 */
export function keyFrom(flag: string | undefined, env: NodeJS.ProcessEnv): string | null {
  const key = flag ?? variable('BELFRY_KEY', env) ?? variable('BELFRY_TOKEN', env) ?? ''
  if (key === '') return null
  if (/^[\x21-\x7e]+$/.test(key)) return key
  throw new CliError(
    'The API key contains spaces or characters that are not allowed in a header.',
    'Pass only the key in --api-key, BELFRY_KEY or BELFRY_KEY_FILE.',
    EXIT.usage,
  )
}

/** Returns an environment variable, or the content of the file that the variable with the suffix `_FILE` names. */
function variable(name: string, env: NodeJS.ProcessEnv): string | undefined {
  const file = env[`${name}_FILE`] ?? ''
  if (env[name] !== undefined || file === '') return env[name]
  try {
    return readSecretFile(`${name}_FILE`, file)
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    throw new CliError(error.message, `Set ${name}_FILE to the path of an existing file.`, EXIT.usage)
  }
}

/** Returns the certificates to trust, for a server whose authority Node.js does not know; null if none are given. */
export function authorityFrom(flag: string | undefined, env: NodeJS.ProcessEnv): string | null {
  const file = flag ?? env['BELFRY_CA_FILE'] ?? ''
  if (file === '') return null
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw new CliError(
      `Cannot read the certificate file: ${(error as Error).message}.`,
      'Give a file in PEM form with --ca-file or BELFRY_CA_FILE.',
      EXIT.usage,
    )
  }
}

/** Credentials, certificates, and values sent with each request. */
export interface ServerOptions {
  /** The API key, or the token for a proxy in front of the server. */
  readonly key?: string | null
  /** The project to act in; null for the key's project, else `default`. */
  readonly project?: string | null
  /** Reason for changes, recorded in the audit log. */
  readonly reason?: string | null
  /** Certificates of the authority that signed the server's certificate, in PEM form. */
  readonly ca?: string | null
}

export class Server {
  readonly url: string
  readonly #key: string | null
  readonly #project: string | null
  readonly #reason: string | null
  readonly #ca: string | null
  #offsetMs = 0

  constructor(url: string, { key = null, project = null, reason = null, ca = null }: ServerOptions = {}) {
    this.url = url
    this.#key = key
    this.#project = project === '' ? null : project
    this.#reason = reason === '' ? null : reason
    this.#ca = ca
  }

  /** The server's time, as estimated from its responses. */
  now(): number {
    return Date.now() + this.#offsetMs
  }

  async get<T>(path: string): Promise<T> {
    return (await this.ask<T>('GET', path)).data
  }

  async post<T>(path: string, body?: unknown, headers: Record<string, string> = {}): Promise<T> {
    return (await this.ask<T>('POST', path, { body, headers })).data
  }

  async ask<T>(
    method: string,
    path: string,
    { body, headers = {} }: RequestOptions = {},
  ): Promise<Answer<T>> {
    const answer = await this.#send(method, path, {
      headers: {
        accept: 'application/json',
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const data = await this.read(answer)
    this.#followClock(answer)
    return { data: data as T, etag: answer.header('etag') }
  }

  /** Sends a request that may take as long as data moves; the caller's signal aborts it. */
  async transfer(
    method: string,
    path: string,
    options: { headers: Record<string, string>; body?: AsyncIterable<Buffer>; signal: AbortSignal },
  ): Promise<HttpAnswer> {
    const answer = await this.#send(method, path, options)
    if (!answer.isOk) await this.read(answer)
    return answer
  }

  /** Returns the body of a response; throws if it is an error or not a response of Belfry. */
  async read(answer: HttpAnswer): Promise<unknown> {
    const text = await answer.text().catch((error: unknown) => {
      throw this.#unreachable(error)
    })
    const data = text === '' ? null : jsonOf(text, answer)
    if (data === undefined || (!answer.isOk && !isProblem(data))) throw this.#stranger(answer)
    if (!answer.isOk) throw new RefusedError(data as Problem, { retryAfterMs: retryAfterMs(answer) })
    return data
  }

  /** Sends a request whose response is read as a stream; the caller ends it. */
  async open(path: string, options: Pick<SendOptions, 'headers' | 'signal'>): Promise<HttpAnswer> {
    const answer = await this.#send('GET', path, options)
    if (answer.status !== 204 && !/json|event-stream/.test(answer.header('content-type') ?? ''))
      throw this.#stranger(answer)
    return answer
  }

  async #send(method: string, path: string, options: SendOptions): Promise<HttpAnswer> {
    try {
      return await sendHttp(this.url + path, {
        signal: AbortSignal.timeout(TIMEOUT_MS),
        ...options,
        headers: { ...options.headers, ...this.#credentials(), ...this.#whyTo(method) },
        method,
        ca: this.#ca,
      })
    } catch (error) {
      throw this.#unreachable(error)
    }
  }

  /** Headers for authentication and the project. */
  #credentials(): Record<string, string> {
    return {
      ...(this.#key === null ? {} : { authorization: `Bearer ${this.#key}` }),
      ...(this.#project === null ? {} : { [PROJECT_HEADER]: this.#project }),
    }
  }

  /** Header with the reason for a change, as UTF-8 bytes, which the server expects. */
  #whyTo(method: string): Record<string, string> {
    if (this.#reason === null || method === 'GET') return {}
    return { [REASON_HEADER]: Buffer.from(this.#reason).toString('latin1') }
  }

  #followClock(answer: HttpAnswer): void {
    const date = Date.parse(answer.header('date') ?? '')
    if (!Number.isNaN(date) && Math.abs(date + 500 - this.now()) > CLOCK_DOUBT_MS)
      this.#offsetMs = date + 500 - Date.now()
  }

  #unreachable(error: unknown): CliError {
    const reason = reasonOf(error)
    if (UNTRUSTED.test(reason))
      return new CliError(
        `The certificate of ${this.url} is not trusted (${reason}).`,
        'Give the certificate of its authority with --ca-file or BELFRY_CA_FILE.',
        EXIT.unreachable,
      )
    if (reason === 'ERR_INVALID_CHAR')
      return new CliError(
        'The name of the project or the reason contains characters that cannot be sent in a header.',
        'Pass the name of a project with --project, and a single line with --reason.',
        EXIT.usage,
      )
    return new CliError(
      `Cannot reach a Belfry server at ${this.url}${reason === '' ? '' : ` (${reason})`}.`,
      `Start a server: belfry start. To use another address: --server or ${SERVER_VARIABLE}`,
      EXIT.unreachable,
    )
  }

  #stranger({ status }: HttpAnswer): CliError {
    return new CliError(
      `The server at ${this.url} is not a Belfry server: it answered ${status} with a body that is not a Belfry response.`,
      `Give the address of a Belfry server with --server or ${SERVER_VARIABLE}.`,
      EXIT.unreachable,
    )
  }
}

/** Returns undefined if the response is not JSON. */
function jsonOf(text: string, answer: HttpAnswer): unknown {
  if (!/[/+]json\b/.test(answer.header('content-type') ?? '')) return undefined
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The server gives seconds. */
function retryAfterMs(answer: HttpAnswer): number | null {
  const seconds = Number(answer.header('retry-after') ?? Number.NaN)
  return Number.isFinite(seconds) ? seconds * 1_000 : null
}

function isProblem(data: unknown): data is Problem {
  const { status, code, detail } = (data ?? {}) as Partial<Problem>
  return typeof status === 'number' && typeof code === 'string' && typeof detail === 'string'
}

/** OpenSSL's error codes for a certificate that no trusted authority signed. */
const UNTRUSTED = /SELF_SIGNED|UNABLE_TO_(VERIFY|GET)|CERT_UNTRUSTED/

/** Returns the reason that a request failed, from the innermost error that has one. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  if (error.name === 'AbortError') return 'the connection stalled'
  if (error.name === 'TimeoutError') return `no answer within ${TIMEOUT_MS / 1000} s`
  const inner = error.cause ?? (error as AggregateError).errors?.[0]
  if (inner instanceof Error) return reasonOf(inner)
  return (error as NodeJS.ErrnoException).code ?? error.message
}

/** Returns a query string of the values that are set; an empty string if none are. */
export function queryOf(values: Readonly<Record<string, string | number | undefined | null>>): string {
  const given = Object.entries(values).filter(([, value]) => value !== undefined && value !== null)
  const pairs = given.map(([name, value]): [string, string] => [name, String(value)])
  const text = new URLSearchParams(pairs).toString()
  return text === '' ? '' : `?${text}`
}
