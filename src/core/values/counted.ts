/** A count that stops at a limit to bound its cost. */
export interface Counted {
  readonly count: number
  /** Whether counting stopped at the limit, so that there may be more. */
  readonly atLeast: boolean
}

/** A count that was made up to a limit. */
export const countedUpTo = (limit: number, count: number): Counted => ({ count, atLeast: count >= limit })

/** Maximum number of waiting runs that are counted for a queue or a target. */
export const MAX_WAITING_COUNTED = 10_000

/** The waiting runs of a queue or a target, from the number that the API reports. */
export const waitingOf = ({ waiting }: { readonly waiting: number }): Counted =>
  countedUpTo(MAX_WAITING_COUNTED, waiting)
