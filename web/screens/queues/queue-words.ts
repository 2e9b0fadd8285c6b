/** Describes the state of a queue. */
import { waitingOf } from '../../../src/core/values/counted.ts'
import { rateGapMs } from '../../../src/core/values/rate.ts'
import { formatCount, formatDuration } from '../../../src/core/words/time.ts'
import type { Queue } from '../../api/wire.ts'
import type { AnyState } from '../../components/state.ts'

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
export function drainWords({ isPaused, rate, ...queue }: Queue): string | null {
  const { count, atLeast } = waitingOf(queue)
  if (isPaused || count === 0 || rate === null) return null
  const words = formatDuration(Math.ceil((count * rateGapMs(rate)) / 1_000) * 1_000)
  return atLeast ? `more than ${words} at this rate` : `about ${words} at this rate`
}
