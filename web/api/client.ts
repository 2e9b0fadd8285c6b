/** Asks the server. Whatever goes wrong, also on the way there, is an `ApiError` with a problem document. */
import { serverNow, setServerNow } from '../time/clock.ts'
import { projectHeader } from './chosen-project.ts'
import { goToSignIn } from './signed-out.ts'
import type { FieldProblem, Problem } from './wire.ts'

/** Longer than the server takes for anything, so that it is the server that answers. */
const TIMEOUT_MS = 35_000

export class ApiError extends Error {
  readonly problem: Problem

  constructor(problem: Problem, options?: ErrorOptions) {
    super(problem.detail, options)
    this.name = 'ApiError'
    this.problem = problem
  }

  /** What was wrong with single fields. */
  get fields(): readonly FieldProblem[] {
    return this.problem.errors ?? []
  }
}

/** Whether an error says that something was not found, or that it cannot exist: asking again would change nothing. */
export const isNotThere = (error: unknown): boolean =>
  error instanceof ApiError && (error.problem.status === 404 || error.problem.status === 422)

/** A success: what was answered, and the version it has. */
export interface Answer<T> {
  readonly data: T
  readonly etag: string | null
}

export interface RequestOptions {
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal
}

export async function ask<T>(method: string, path: string, options: RequestOptions = {}): Promise<Answer<T>> {
  const { body, headers = {}, signal } = options
  const timeout = AbortSignal.timeout(TIMEOUT_MS)
  let answer: Response
  try {
    answer = await fetch(path, {
      method,
      headers: {
        accept: 'application/json',
        ...projectHeader(path),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
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
    return new Promise<never>(() => {}) // Whoever asked goes on waiting: the page is about to be another one.
  }
  return { data: (text === '' ? null : JSON.parse(text)) as T, etag: answer.headers.get('etag') }
}

export async function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  return (await ask<T>('GET', path, signal ? { signal } : {})).data
}

export async function post<T>(path: string, body?: unknown, headers?: Record<string, string>): Promise<T> {
  return (
    await ask<T>('POST', path, { ...(body === undefined ? {} : { body }), ...(headers ? { headers } : {}) })
  ).data
}

/** The header has whole seconds: it is believed only where our own idea is farther off than that. */
const CLOCK_DOUBT_MS = 1_500

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

/** A query string of what is there; nothing for what is not. */
export function queryOf(values: Readonly<Record<string, string | number | undefined | null>>): string {
  const given = Object.entries(values).filter(
    ([, value]) => value !== undefined && value !== null && value !== '',
  )
  const text = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString()
  return text === '' ? '' : `?${text}`
}
