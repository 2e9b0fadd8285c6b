import { expect, test } from 'vitest'
import { REFUSALS, type RefusalCode } from '../../core/errors.ts'
import { RefusedError } from './problem.ts'

const AGAIN = 'Try again in a moment. See the server log for details.'

test.each<[RefusalCode, number | null, string]>([
  ['rate_limited', 17_000, 'Wait 17 seconds and try again.'],
  ['stream_limit', 5_000, 'Wait 5 seconds and try again.'],
  ['too_many_workers', 1_000, 'Wait 1 second and try again.'],
  ['too_many_sign_ins', null, 'Wait a moment and try again.'],
  ['database_read_only', 5_000, 'Fix this and try again.'],
  ['database_full', 5_000, 'Fix this and try again.'],
  ['database_slow', 2_000, AGAIN],
  ['database_overloaded', 1_000, AGAIN],
  ['unavailable', 1_000, AGAIN],
  ['busy', 1_000, AGAIN],
  ['invalid_input', null, 'Correct the request and try again. See --help for examples.'],
])('after %s with Retry-After of %s ms, the hint is: %s', (code, retryAfterMs, hint) => {
  const problem = { ...REFUSALS[code], code, detail: 'A detail.' }

  const error = new RefusedError(problem, { retryAfterMs })

  expect(error.hint).toBe(hint)
})
