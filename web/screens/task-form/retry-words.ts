import { parseDuration } from '../../../src/core/values/duration.ts'
import { formatDuration } from '../../../src/core/words/time.ts'
import type { Draft } from './draft.ts'

const SHOWN_WAITS = 5

type RetryFields = Pick<Draft, 'retryLimit' | 'retryInitial' | 'retryMax'>

/** Lists the longest waits between attempts. Half of each wait is fixed; the other half is random. */
export function retryWords({ retryLimit, retryInitial, retryMax }: RetryFields): string {
  const limit = Number(retryLimit)
  const [initial, max] = [parseDuration(retryInitial.trim()), parseDuration(retryMax.trim())]
  if (limit === 0) return 'On failure: no retries; the run fails permanently.'
  if (!Number.isInteger(limit) || limit < 0 || !initial.ok || !max.ok)
    return 'On failure: see the retry fields of the form.'
  const waits = Array.from({ length: Math.min(limit, SHOWN_WAITS) }, (_, nth) =>
    formatDuration(Math.min(initial.ms * 2 ** nth, max.ms)),
  )
  const more = limit > SHOWN_WAITS ? `, … ${limit} retries in total` : ''
  return `On failure: retries after up to ${waits.join(', ')}${more}, then fails permanently.`
}
