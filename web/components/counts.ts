/** Describes counts that may have stopped at a limit. */
import { type Counted, waitingOf } from '../../src/core/values/counted.ts'
import { formatCount } from '../../src/core/words/time.ts'

/** Marks a count that stopped at its limit. */
export const count = ({ count, atLeast }: Counted): string => `${formatCount(count)}${atLeast ? '+' : ''}`

/** The number of runs that wait in a queue or for a target. */
export const waitingWords = (of: { readonly waiting: number }): string => count(waitingOf(of))
