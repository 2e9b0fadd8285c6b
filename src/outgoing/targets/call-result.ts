/** What the end of a call says about its target. What it means for the run is decided elsewhere. */
import type { AttemptError, Outcome } from '../../core/run/outcome.ts'

/**
 * - answered: a complete answer below 500, except 429, including 4xx and whatever the task expects: the target is healthy.
 * - failed: any other 5xx. Something behind the target is broken, perhaps for this task only.
 * - overloaded: 503 or 429, or a mail server that reports that it is not available now.
 * - unreachable: refused, reset, TLS, connect timeout, name not found.
 * - timed_out: no answer within the attempt's timeout or the timeout of the first byte, or an answer that stopped in the
 * middle.
 * - neutral: cancelled, lease lost, shutdown, rejected by Belfry itself. It says nothing about the target.
 */
export type CallResultKind = 'answered' | 'failed' | 'overloaded' | 'unreachable' | 'timed_out' | 'neutral'

/** The end of a call. */
export interface CallResult {
  readonly taskId: string
  readonly kind: CallResultKind
  /** Since `begin`. */
  readonly durationMs: number
  readonly error?: { readonly code: string; readonly message: string }
  readonly retryAfterMs?: number
}

export function callResultOf(taskId: string, outcome: Outcome, durationMs: number): CallResult {
  switch (outcome.kind) {
    case 'completed':
      return { taskId, kind: 'answered', durationMs }
    case 'failed':
      return failure({ taskId, durationMs }, outcome)
    case 'timed_out':
      return { taskId, kind: 'timed_out', durationMs, error: outcome.error }
    case 'cancelled':
    case 'lease_lost':
      return { taskId, kind: 'neutral', durationMs }
    default:
      return outcome satisfies never
  }
}

function failure(
  call: { readonly taskId: string; readonly durationMs: number },
  { error, retryAfterMs }: { readonly error: AttemptError; readonly retryAfterMs?: number },
): CallResult {
  const result = { ...call, kind: kindOf(error), error }
  return retryAfterMs === undefined ? result : { ...result, retryAfterMs }
}

function kindOf({ code, detail }: AttemptError): CallResultKind {
  const status = typeof detail?.['status'] === 'number' ? detail['status'] : undefined
  if (HTTP_ANSWERS.has(code)) return status === undefined ? 'answered' : byStatus(status)
  if (MAIL_ANSWERS.has(code)) return status === undefined ? 'neutral' : byReply(status)
  return KINDS[code] ?? 'neutral'
}

function byStatus(status: number): CallResultKind {
  if (status === 429 || status === 503) return 'overloaded'
  return status >= 500 ? 'failed' : 'answered'
}

/** A mail server answers 421 when it closes the connection because it is overloaded. Every other rejection concerns one message. */
const byReply = (status: number): CallResultKind => (status === 421 ? 'overloaded' : 'answered')

/** Error codes that result from an HTTP response. */
const HTTP_ANSWERS: ReadonlySet<string> = new Set([
  'http_status',
  'slack_refused',
  'redirect_refused',
  'too_many_redirects',
])

const MAIL_ANSWERS: ReadonlySet<string> = new Set([
  'email_login_refused',
  'email_refused',
  'recipients_refused',
])

/** Every other code is neutral: Belfry itself refused or failed to make the call, so it says nothing about the target. */
const KINDS: Readonly<Record<string, CallResultKind>> = {
  body_timeout: 'timed_out',
  connect_refused: 'unreachable',
  connect_timeout: 'unreachable',
  connection_closed: 'unreachable',
  connection_reset: 'unreachable',
  dns_not_found: 'unreachable',
  dns_unavailable: 'unreachable',
  email_unreachable: 'unreachable',
  first_byte_timeout: 'timed_out',
  network_error: 'unreachable',
  network_unreachable: 'unreachable',
  protocol_error: 'failed',
  timed_out: 'timed_out',
  tls_error: 'unreachable',
}
