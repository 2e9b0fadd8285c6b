import { expect, test } from 'vitest'
import { CliError, EXIT } from '../exit.ts'
import { RefusedError } from './problem.ts'
import { MAX_WAIT_MS, NO_TRIES, pauseAfter, type Tries } from './transfer-pause.ts'

const refusal = (status: number, code: string, retryAfterMs: number | null = null) =>
  new RefusedError({ status, code, title: 'A title', detail: 'A detail.' }, { retryAfterMs })

/** The pauses of a transfer whose attempts all fail alike. */
function pausesOf(error: unknown): number[] {
  const pauses: number[] = []
  let tries: Tries = NO_TRIES
  for (let next = pauseAfter(error, tries); next !== null; next = pauseAfter(error, tries)) {
    pauses.push(next.pauseMs)
    tries = next.tries
  }
  return pauses
}

test('a transfer waits for a place for minutes, as long as the server asks each time', () => {
  const pauses = pausesOf(refusal(503, 'busy', 5_000))

  expect(new Set(pauses)).toEqual(new Set([5_000]))
  expect(pauses).toHaveLength(MAX_WAIT_MS / 5_000)
})

test('a transfer waits until its project or key may send requests again, unless this takes too long', () => {
  expect(pauseAfter(refusal(429, 'rate_limited', 20_000), NO_TRIES)?.pauseMs).toBe(20_000)
  expect(pauseAfter(refusal(429, 'rate_limited', MAX_WAIT_MS + 1_000), NO_TRIES)).toBeNull()
})

test('a server that does not respond or cannot use its database is tried a few times', () => {
  const backoff = [500, 1_000, 2_000, 4_000, 8_000, 8_000]

  expect(pausesOf(new CliError('Unreachable.', 'Try again.', EXIT.unreachable))).toEqual(backoff)
  expect(pausesOf(refusal(503, 'database_unavailable'))).toEqual(backoff)
  expect(pausesOf(refusal(503, 'database_unavailable', 5_000))).toEqual([
    5_000, 5_000, 5_000, 5_000, 8_000, 8_000,
  ])
})

test('what will not change is not tried again', () => {
  expect(pausesOf(refusal(404, 'not_found'))).toEqual([])
  expect(pausesOf(new Error('a bug'))).toEqual([])
})
