/** Describes the state of a queue. */
import { rateGapMs } from '../../../src/core/values/rate.ts'
import { formatCount, formatDuration } from '../../../src/core/words/time.ts'
import type { Queue } from '../../api/wire.ts'
import type { AnyState } from '../../components/state.ts'

/** The server counts waiting runs up to this number. */
const COUNTED = 10_000

export const waitingWords = ({ waiting }: Pick<Queue, 'waiting'>): string =>
  `${formatCount(waiting)}${waiting >= COUNTED ? '+' : ''}`

/** Running runs are counted only if the queue has a limit. */
export const runningWords = ({ running, concurrencyLimit }: Queue): string =>
  concurrencyLimit === null ? 'no limit' : `${formatCount(running ?? 0)} / ${formatCount(concurrencyLimit)}`

/** The state of a queue uses the shape and colour of the run state that matches it. */
export function stateOf({ isPaused, running, concurrencyLimit }: Queue): { state: AnyState; text: string } {
  if (isPaused) return { state: 'paused', text: 'paused' }
  const isFull = concurrencyLimit !== null && (running ?? 0) >= concurrencyLimit
  return isFull ? { state: 'pending', text: 'full' } : { state: 'completed', text: 'open' }
}

/** How long the queue's rate limit takes to start all waiting runs; null without such a limit. */
export function drainWords({ isPaused, waiting, rate }: Queue): string | null {
  if (isPaused || waiting === 0 || rate === null) return null
  const words = formatDuration(Math.ceil((waiting * rateGapMs(rate)) / 1_000) * 1_000)
  return waiting >= COUNTED ? `more than ${words} at this rate` : `about ${words} at this rate`
}
