/** Writes counts: with their noun, and those that may have stopped at a limit. */
import { type Counted, waitingOf } from '../../src/core/values/counted.ts'
import { formatCount } from '../../src/core/words/time.ts'

/** `1 run`, `12 runs`. */
export const counted = (count: number, one: string, many = `${one}s`): string =>
  `${formatCount(count)} ${count === 1 ? one : many}`

/** Marks a count that stopped at its limit: `10 000+`. */
export const countWords = ({ count, atLeast }: Counted): string =>
  `${formatCount(count)}${atLeast ? '+' : ''}`

/** The number of runs that wait in a queue or for a target. */
export const waitingWords = (of: { readonly waiting: number }): string => countWords(waitingOf(of))
