import { expect, test } from 'vitest'
import type { Outcome } from '../../core/run/outcome.ts'
import { HTTP_FAILURE_CODES } from '../http-failure.ts'
import { callResultOf } from './call-result.ts'

const failed = (code: string, status?: number): Outcome => ({
  kind: 'failed',
  retryable: true,
  error: { code, message: 'x', ...(status === undefined ? {} : { detail: { status } }) },
})

test.each([
  ['http_status', 404, 'answered'],
  ['http_status', 302, 'answered'],
  ['http_status', 429, 'overloaded'],
  ['http_status', 500, 'failed'],
  ['http_status', 502, 'failed'],
  ['http_status', 503, 'overloaded'],
  ['slack_refused', 200, 'answered'],
  ['slack_refused', 429, 'overloaded'],
  ['too_many_redirects', undefined, 'answered'],
  ['connection_reset', 200, 'unreachable'],
  ['first_byte_timeout', undefined, 'timed_out'],
  ['email_unreachable', undefined, 'unreachable'],
  ['email_refused', 421, 'overloaded'],
  ['email_refused', 550, 'answered'],
  ['email_refused', undefined, 'neutral'],
  ['email_not_configured', undefined, 'neutral'],
  ['worker_stopped', undefined, 'neutral'],
  ['executor_failed', undefined, 'neutral'],
])('%s with status %s counts as %s', (code, status, kind) => {
  expect(callResultOf('a', failed(code, status), 7)).toMatchObject({ taskId: 'a', kind, durationMs: 7 })
})

test('HTTP failures that Belfry itself causes are neutral about the target', () => {
  const neutral = HTTP_FAILURE_CODES.filter((code) => callResultOf('a', failed(code), 1).kind === 'neutral')

  expect(neutral).toEqual([
    'aborted',
    'forbidden_address',
    'invalid_request',
    'settings_unavailable',
    'worker_exhausted',
  ])
})

test('completed counts as answered, timed_out as a timeout, and a cancelled or lost attempt as neutral', () => {
  const error = { code: 'timed_out', message: 'x' }

  expect(callResultOf('a', { kind: 'completed', output: null }, 1).kind).toBe('answered')
  expect(callResultOf('a', { kind: 'timed_out', error }, 1)).toMatchObject({ kind: 'timed_out', error })
  expect(callResultOf('a', { kind: 'cancelled' }, 1).kind).toBe('neutral')
  expect(callResultOf('a', { kind: 'lease_lost' }, 1).kind).toBe('neutral')
})

test('the wait that the target asks for is passed on', () => {
  const outcome = { ...failed('http_status', 503), retryAfterMs: 9_000 } as Outcome

  expect(callResultOf('a', outcome, 1).retryAfterMs).toBe(9_000)
})
