/**
 * Performs `ping`, `webhook` and `http`: one request, and an outcome by its status.
 *
 * An expected status completes. Of the others 408, 425, 429 and 5xx ask to come again, as does every
 * failure of the network; any other status is the receiver's last word. A status that is not expected
 * decides even when the rest of its answer was lost; one that is expected counts only with its whole body.
 */
import { LRUCache } from 'lru-cache'
import type { HttpAction, PingAction, WebhookAction } from '../../core/action.ts'
import type { Outcome } from '../../core/outcome.ts'
import { isReservedHeader } from '../../core/reserved-headers.ts'
import { parseTargetUrl } from '../../core/target-url.ts'
import type { AttemptContext, Executor } from '../executor.ts'
import { type HttpClient, type HttpResponse, type HttpResult, type Target, targetOf } from './http-client.ts'
import { attemptHeaders } from './http-headers.ts'
import { parseRetryAfter } from './retry-after.ts'

export type HttpLikeAction = PingAction | WebhookAction | HttpAction

export interface HttpExecutorOptions {
  readonly client: HttpClient
  /** Sent as `user-agent`, such as `belfry/1.0.0`. */
  readonly userAgent: string
}

/** The executor of everything that is one HTTP request. It does not own the client. */
export function createHttpExecutor({ client, userAgent }: HttpExecutorOptions): Executor<HttpLikeAction> {
  const targets = new Targets()
  return {
    async execute(action, context) {
      const target = targets.get(action.url)
      if (typeof target === 'string') return refused('invalid_url', `the URL ${target}`)
      const forbidden = Object.keys(headersOf(action)).find(isReservedHeader)
      if (forbidden !== undefined) return refused('forbidden_header', `the header ${forbidden} cannot be set`)

      const result = await client.send({
        target,
        method: methodOf(action),
        headers: requestHeaders(action, context, userAgent),
        body: bodyText(action),
        signal: context.signal,
      })
      return toOutcome(result, { host: target.host, expect: expectOf(action) })
    },
  }
}

const MAX_TARGETS = 1_000

/** Addresses that were read before. Reading one costs as much as the rest of a request that is made of it. */
class Targets {
  readonly #known = new LRUCache<string, Target>({ max: MAX_TARGETS })

  /** Where the address leads, or why it leads nowhere. */
  get(address: string): Target | string {
    const known = this.#known.get(address)
    if (known) return known
    const parsed = parseTargetUrl(address)
    if (!parsed.ok) return parsed.reason
    const target = targetOf(parsed.url)
    this.#known.set(address, target)
    return target
  }
}

const refused = (code: string, message: string): Outcome => ({
  kind: 'failed',
  error: { code, message },
  retryable: false,
})

function methodOf(action: HttpLikeAction): string {
  switch (action.type) {
    case 'ping':
      return 'GET'
    case 'webhook':
      return 'POST'
    case 'http':
      return action.method
    default:
      return action satisfies never
  }
}

const NO_HEADERS: Readonly<Record<string, string>> = {}
const headersOf = (action: HttpLikeAction) => (action.type === 'http' && action.headers) || NO_HEADERS

/** A string is sent as it is, so JSON that is already text stays what it was; all else becomes JSON. */
function bodyText(action: HttpLikeAction): string | undefined {
  if (action.type === 'ping' || action.body === undefined) return undefined
  return typeof action.body === 'string' ? action.body : JSON.stringify(action.body)
}

function requestHeaders(action: HttpLikeAction, context: AttemptContext, userAgent: string): string[] {
  const headers = attemptHeaders(context, { userAgent, now: Date.now() })
  let hasContentType = false
  for (const [name, value] of Object.entries(headersOf(action))) {
    headers.push(name, value)
    hasContentType ||= name.toLowerCase() === 'content-type'
  }
  if (!hasContentType && action.type !== 'ping' && action.body !== undefined) {
    headers.push('content-type', 'application/json')
  }
  return headers
}

const DEFAULT_EXPECT = ['2xx']
const expectOf = (action: HttpLikeAction) => (action.type === 'http' && action.expect) || DEFAULT_EXPECT

type Expect = readonly (number | string)[]

/** Whether the status is one of those listed: a number, the same as text, or a class such as `2xx`. */
export function isExpected(status: number, expect: Expect): boolean {
  const text = String(status)
  return expect.some((entry) => {
    const wanted = String(entry).toLowerCase()
    return wanted === text || (wanted.endsWith('xx') && wanted.length === 3 && wanted[0] === text[0])
  })
}

function toOutcome(result: HttpResult, { host, expect }: { host: string; expect: Expect }): Outcome {
  const { response } = result
  if (response !== undefined && !isExpected(response.status, expect))
    return unexpected(response, { host, expect })
  if (result.ok) return { kind: 'completed', output: result.response }
  return { kind: 'failed', ...result.failure, ...(response === undefined ? {} : { output: response }) }
}

function unexpected(response: HttpResponse, { host, expect }: { host: string; expect: Expect }): Outcome {
  const retryAfterMs = retryAfterOf(response)
  return {
    kind: 'failed',
    error: {
      code: 'http_status',
      message: statusMessage(response.status, { host, expect }),
      detail: { status: response.status },
    },
    retryable: isRetryable(response.status),
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    output: response,
  }
}

function statusMessage(status: number, { host, expect }: { host: string; expect: Expect }): string {
  const what = `HTTP ${status} from ${host}`
  if (status >= 300 && status < 400) return `${what}: redirects are not followed, use the final address`
  return expect === DEFAULT_EXPECT ? what : `${what}, expected ${expect.join(', ')}`
}

/** Statuses that say "not now" rather than "no". */
function isRetryable(status: number): boolean {
  return status === 408 || status === 425 || status === 429 || (status >= 500 && status < 600)
}

function retryAfterOf({ status, headers }: HttpResponse): number | undefined {
  const value = headers['retry-after']
  if (value === undefined || (status !== 429 && status !== 503)) return undefined
  return parseRetryAfter(value, { date: headers.date, now: Date.now() })
}
