/** Numbers of occurrences as history stores them. */
import { MAX_INTEGER } from '../../core/values/integer.ts'

/** Returns the number to store with a row that covers several occurrences; null, as for too many to count, if it does not fit. */
export const storedCount = (count: number | null): number | null =>
  count !== null && count > MAX_INTEGER ? null : count

/** Returns the number to store where there must be one. */
export const countAtMost = (count: number): number => Math.min(count, MAX_INTEGER)
