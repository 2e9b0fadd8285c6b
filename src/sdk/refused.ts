/** Errors that Belfry responds with, and what they mean for the request and for the worker. */

/** The server responded with an error. */
export class Refused extends Error {
  override readonly name = 'Refused'
  readonly status: number
  /** Stable error code; Belfry's documentation lists the codes. */
  readonly code: string
  /** How long the server asks clients to wait, from `Retry-After`. */
  readonly retryAfterMs: number

  constructor(status: number, code: string, detail: string, retryAfterMs = 0) {
    super(detail)
    this.status = status
    this.code = code
    this.retryAfterMs = retryAfterMs
  }
}

/** Status codes below 500 that are temporary: a repeated request can succeed. */
const PASSING: ReadonlySet<number> = new Set([408, 425, 429])

/** Whether repeating the request cannot help. */
export const isFinal = ({ status }: Refused): boolean => status < 500 && !PASSING.has(status)

/** Whether Belfry no longer knows the worker: it was declared dead, and its runs were reassigned. */
export const isGone = (error: unknown): boolean =>
  error instanceof Refused && (error.status === 410 || error.status === 401)
