/** Sends requests to the server. Every failure, including those of the network, is an `ApiError` with a problem document. */
import { CLOCK_DOUBT_MS } from '../../src/core/values/clock-doubt.ts'
import { serverNow, setServerNow } from '../time/clock.ts'
import { projectHeader } from './chosen-project.ts'
import { reasonHeader } from './reason.ts'
import { goToSignIn } from './signed-out.ts'
import type { FieldProblem, Problem } from './wire.ts'

/** Longer than any timeout of the server, so that the server's own answer arrives first. */
const TIMEOUT_MS = 35_000

export class ApiError extends Error {
  readonly problem: Problem

  constructor(problem: Problem, options?: ErrorOptions) {
    super(problem.detail, options)
    this.name = 'ApiError'
    this.problem = problem
  }

  /** Problems with single fields of the request. */
  get fields(): readonly FieldProblem[] {
    return this.problem.errors ?? []
  }
}

/** Whether the error says that the resource does not exist or cannot exist, so that a retry would be pointless. */
export const isNotThere = (error: unknown): boolean =>
  error instanceof ApiError && (error.problem.status === 404 || error.problem.status === 422)

/** A successful answer: its data and the version of the resource. */
export interface Answer<T> {
  readonly data: T
  readonly etag: string | null
}

/** Options of a request that changes something. */
export interface ChangeOptions {
  /** The reason for the change, which the audit log records. */
  readonly reason?: string
}

export interface RequestOptions extends ChangeOptions {
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal
}

export async function ask<T>(method: string, path: string, options: RequestOptions = {}): Promise<Answer<T>> {
  const { body, headers = {}, reason, signal } = options
  const timeout = AbortSignal.timeout(TIMEOUT_MS)
  let answer: Response
  try {
    answer = await fetch(path, {
      method,
      headers: {
        accept: 'application/json',
        ...projectHeader(path),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...reasonHeader(reason),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: signal ? AbortSignal.any([signal, timeout]) : timeout,
    })
  } catch (error) {
    if (signal?.aborted) throw error
    throw unreachable(error)
  }
  followServerClock(answer)
  const text = await answer.text()
  if (!answer.ok) {
    const problem = readProblem(answer, text)
    if (problem.code !== 'unauthenticated' || path.startsWith('/auth/')) throw new ApiError(problem)
    goToSignIn()
    return new Promise<never>(() => {}) // Never resolves: the browser is about to load another page.
  }
  return { data: (text === '' ? null : JSON.parse(text)) as T, etag: answer.headers.get('etag') }
}

export async function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  return (await ask<T>('GET', path, signal ? { signal } : {})).data
}

export async function post<T>(
  path: string,
  body?: unknown,
  options?: Pick<RequestOptions, 'headers' | 'reason'>,
): Promise<T> {
  return (await ask<T>('POST', path, { ...(body === undefined ? {} : { body }), ...options })).data
}

function followServerClock(answer: Response): void {
  const date = Date.parse(answer.headers.get('date') ?? '')
  if (Number.isNaN(date)) return
  const now = date + 500
  if (Math.abs(now - serverNow()) > CLOCK_DOUBT_MS) setServerNow(now)
}

function readProblem(answer: Response, text: string): Problem {
  try {
    return JSON.parse(text) as Problem
  } catch {
    return {
      title: 'The server sent an unreadable response',
      detail: `${answer.status} ${answer.statusText}`.trim(),
      status: answer.status,
      code: 'unreadable',
    }
  }
}

function unreachable(cause: unknown): ApiError {
  const problem = {
    title: 'The server is not responding',
    detail:
      'It may be stopped or restarting. The request may not have been processed. Try again when the server is back.',
    status: 0,
    code: 'unreachable',
  }
  return new ApiError(problem, { cause })
}

/** Builds a query string, leaving out values that are undefined or null. */
export function queryOf(values: Readonly<Record<string, string | number | undefined | null>>): string {
  const given = Object.entries(values).filter(
    ([, value]) => value !== undefined && value !== null && value !== '',
  )
  const text = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString()
  return text === '' ? '' : `?${text}`
}
