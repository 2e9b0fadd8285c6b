/**
 * Performs `ping`, `webhook` and `http`: one request, and an outcome according to its status. An `http` action may ask for
 * redirects to be followed; then there is a request for each, and the last response counts.
 *
 * An expected status completes the run. Of the others, 408, 425, 429 and 5xx are retryable, as is every network failure; any
 * other status is final. An unexpected status decides even if the rest of the response was lost; an expected one counts only
 * with its complete body.
 */
import { LRUCache } from 'lru-cache'
import type { HttpAction, PingAction, WebhookAction } from '../../core/action/action.ts'
import { isReservedHeader } from '../../core/action/reserved-headers.ts'
import { parseTargetUrl } from '../../core/action/target-url.ts'
import type { Outcome } from '../../core/run/outcome.ts'
import { durationMs } from '../../core/task/task.ts'
import {
  type HttpClient,
  type HttpRequest,
  type HttpResponse,
  type HttpResult,
  type Target,
  targetOf,
} from '../../outgoing/http-client.ts'
import { type Hop, nextHop, REDIRECTS } from '../../outgoing/redirects.ts'
import { parseRetryAfter } from '../../outgoing/retry-after.ts'
import { type Signer, UNSIGNED } from '../../outgoing/signer.ts'
import type { AttemptContext, Executor } from '../executor.ts'
import { attemptHeaders } from './http-headers.ts'

export type HttpLikeAction = PingAction | WebhookAction | HttpAction

export interface HttpExecutorOptions {
  readonly client: HttpClient
  /** Sent as `user-agent`, such as `belfry/1.0.0`. */
  readonly userAgent: string
  readonly signer: Signer
}

/** The executor of everything that is one HTTP request. It does not own the client. */
export function createHttpExecutor({
  client,
  userAgent,
  signer,
}: HttpExecutorOptions): Executor<HttpLikeAction> {
  const targets = new Targets()
  return {
    async execute(action, context) {
      const target = targets.get(action.url, context)
      if (typeof target === 'string') return refused('invalid_url', `the URL ${target}`)
      const forbidden = forbiddenHeader(action)
      if (forbidden !== undefined) return refused('forbidden_header', `the header ${forbidden} cannot be set`)

      const sender = { context, userAgent, signer }
      const hop: Hop = {
        target,
        method: methodOf(action),
        body: bodyText(action),
        isElsewhere: false,
        onlyPublic: false,
      }
      const result = await client.send(requestOf(action, hop, sender))
      const judging = { host: target.host, expect: expectOf(action), follows: false, context }
      if (action.type !== 'http' || !action.followRedirects) return toOutcome(result, judging)
      const send = (next: Hop) => client.send(requestOf(action, next, sender))
      return follow(result, { hop, client, send, limit: action.followRedirects, judging })
    },
  }
}

interface Following {
  readonly hop: Hop
  readonly client: HttpClient
  readonly send: (hop: Hop) => Promise<HttpResult>
  readonly limit: number
  readonly judging: Judging
}

/** Follows redirects until a response is not a redirect, or its status is expected. */
async function follow(first: HttpResult, following: Following): Promise<Outcome> {
  const { hop: from, client, send, limit, judging } = following
  let result = first
  let hop = from
  for (let followed = 0; ; followed++) {
    const { host } = hop.target
    const { response } = result
    const next =
      response === undefined || isExpected(response.status, judging.expect)
        ? undefined
        : nextHop(hop, response)
    if (next === undefined) return after(followed, toOutcome(result, { ...judging, host, follows: true }))
    if (typeof next === 'string')
      return lost('redirect_refused', `${host} redirects to an address ${next}`, response)
    if (next.isElsewhere && next.body !== undefined && judging.context.secrets !== null)
      return lost(
        'redirect_refused',
        `${host} redirects to another origin, where a body that contains secrets is not sent`,
        response,
      )
    if (followed === limit)
      return lost('too_many_redirects', `more than ${limit} redirects, the last one from ${host}`, response)
    hop = { ...next, onlyPublic: hop.onlyPublic || !client.isPrivate(hop.target.origin) }
    result = await send(hop)
  }
}

/** Records that redirects were followed, so that a request has been sent even if the last one could not be. */
const after = (redirects: number, outcome: Outcome): Outcome =>
  redirects > 0 && outcome.kind === 'failed' && outcome.error.code === 'worker_exhausted'
    ? { ...outcome, error: { ...outcome.error, detail: { redirects } } }
    : outcome

const lost = (code: string, message: string, output: HttpResponse | undefined): Outcome => ({
  kind: 'failed',
  error: { code, message },
  retryable: false,
  output,
})

const MAX_TARGETS = 1_000

/** Parsed target addresses. Parsing one costs as much as the rest of preparing a request. */
export class Targets {
  readonly #known = new LRUCache<string, Target>({ max: MAX_TARGETS })

  /** Returns the target of an address, or why it is invalid. An address that contains the value of a secret is not cached. */
  get(address: string, { secrets }: Pick<AttemptContext, 'secrets'>): Target | string {
    const known = this.#known.get(address)
    if (known) return known
    const parsed = parseTargetUrl(address)
    if (!parsed.ok) return parsed.reason
    const target = targetOf(parsed.url)
    if (secrets === null) this.#known.set(address, target)
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

function forbiddenHeader(action: HttpLikeAction): string | undefined {
  const headers = headersOf(action)
  return headers === NO_HEADERS ? undefined : Object.keys(headers).find(isReservedHeader)
}

/** A string is sent unchanged, so text that is already JSON is not encoded again; any other value is encoded as JSON. */
function bodyText(action: HttpLikeAction): string | undefined {
  if (action.type === 'ping' || action.body === undefined) return undefined
  return typeof action.body === 'string' ? action.body : JSON.stringify(action.body)
}

interface Sender {
  readonly context: AttemptContext
  readonly userAgent: string
  readonly signer: Signer
}

function requestOf(action: HttpLikeAction, hop: Hop, { context, userAgent, signer }: Sender): HttpRequest {
  const { target, method, body, onlyPublic } = hop
  // A receiver that is reached only by a redirect could pass a signature on as if it were meant for that receiver.
  const bySigner = hop.isElsewhere ? UNSIGNED : signer
  const { origin } = target
  const headers = attemptHeaders(context, { userAgent, signer: bySigner, origin, body, now: context.now() })
  addOwnHeaders(headers, action, hop)
  const { signal, projectId } = context
  if (action.type !== 'http') return { target, method, headers, body, signal, projectId }
  const connectTimeoutMs = limitOf(action.connectTimeout)
  const firstByteTimeoutMs = limitOf(action.firstByteTimeout)
  const limits = { onlyPublic, connectTimeoutMs, firstByteTimeoutMs }
  return { target, method, headers, body, signal, projectId, ...limits }
}

const limitOf = (duration: string | undefined) => (duration === undefined ? undefined : durationMs(duration))

/** Adds the task's own headers. They go only to the origin that the task names, except for the type of the body. */
function addOwnHeaders(headers: string[], action: HttpLikeAction, { body, isElsewhere }: Hop): void {
  let contentType: string | undefined
  for (const [name, value] of Object.entries(headersOf(action))) {
    if (name.toLowerCase() === 'content-type') contentType = value
    else if (!isElsewhere) headers.push(name, value)
  }
  // A content type without a body is sent only on the task's own request.
  if (body !== undefined) headers.push('content-type', contentType ?? 'application/json')
  else if (contentType !== undefined && bodyText(action) === undefined && !isElsewhere)
    headers.push('content-type', contentType)
}

const DEFAULT_EXPECT = ['2xx']
const expectOf = (action: HttpLikeAction) => (action.type === 'http' && action.expect) || DEFAULT_EXPECT

type Expect = readonly (number | string)[]

/** Whether the status is one of those listed: a number, the same as text, or a class such as `2xx`. */
export function isExpected(status: number, expect: Expect): boolean {
  if (expect === DEFAULT_EXPECT) return status >= 200 && status < 300
  const text = String(status)
  return expect.some((entry) => {
    const wanted = String(entry).toLowerCase()
    return wanted === text || (wanted.endsWith('xx') && wanted.length === 3 && wanted[0] === text[0])
  })
}

/** How a response is judged. */
interface Judging {
  readonly host: string
  readonly expect: Expect
  /** Whether redirects are followed. If so, a redirect that gets here has no usable location. */
  readonly follows: boolean
  /** Provides the time that a date in a response is compared with if the response has no `date` header. */
  readonly context: Pick<AttemptContext, 'now' | 'secrets'>
}

function toOutcome(result: HttpResult, judging: Judging): Outcome {
  const { response } = result
  if (response !== undefined && !isExpected(response.status, judging.expect))
    return unexpected(response, judging)
  if (result.ok) return { kind: 'completed', output: result.response }
  return { kind: 'failed', ...result.failure, ...(response === undefined ? {} : { output: response }) }
}

function unexpected(response: HttpResponse, judging: Judging): Outcome {
  const retryAfterMs = retryAfterOf(response, judging.context.now())
  return {
    kind: 'failed',
    error: {
      code: 'http_status',
      message: statusMessage(response.status, judging),
      detail: { status: response.status },
    },
    retryable: isRetryable(response.status),
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    output: response,
  }
}

function statusMessage(status: number, { host, expect, follows }: Judging): string {
  const what = `HTTP ${status} from ${host}`
  if (REDIRECTS.has(status) && !follows)
    return `${what}: redirects are not followed; use the final address or set followRedirects`
  return expect === DEFAULT_EXPECT ? what : `${what}, expected ${expect.join(', ')}`
}

/** Whether a status is temporary rather than final. */
export function isRetryable(status: number): boolean {
  return status === 408 || status === 425 || status === 429 || (status >= 500 && status < 600)
}

/** Returns when the receiver asks to be called again, if it says so. */
export function retryAfterOf({ status, headers }: HttpResponse, now: number): number | undefined {
  const value = headers['retry-after']
  if (value === undefined || (status !== 429 && status !== 503)) return undefined
  return parseRetryAfter(value, { date: headers.date, now })
}
