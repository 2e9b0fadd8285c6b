/** A count that stops at a bound, because counting further would cost too much. */
export interface Counted {
  readonly count: number
  /** Counting stopped at the bound: there may be more. */
  readonly atLeast: boolean
}
