/** Numbers of occurrences as history stores them. */

/** The largest value of the type that history has for them. */
const MAX_STORED_COUNT = 2_147_483_647

/** Returns the number to store with a row that covers several occurrences; null, as for too many to count, if it does not fit. */
export const storedCount = (count: number | null): number | null =>
  count !== null && count > MAX_STORED_COUNT ? null : count

/** Returns the number to store where there must be one. */
export const countAtMost = (count: number): number => Math.min(count, MAX_STORED_COUNT)
