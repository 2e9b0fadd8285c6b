/** A count that stops at a limit to bound its cost. */
export interface Counted {
  readonly count: number
  /** Whether counting stopped at the limit, so that there may be more. */
  readonly atLeast: boolean
}
