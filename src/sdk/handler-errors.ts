/** What a handler throws to say more than that it failed. */

/** There is no use in trying again: the run ends, however many retries its task allows. */
export class NonRetryable extends Error {
  override readonly name = 'NonRetryable'
}

/** Try again, not before an instant: a Date, or milliseconds from now. Counts as one of the task's retries. */
export class RetryAt extends Error {
  override readonly name = 'RetryAt'
  readonly at: Date
  /** Milliseconds from when Belfry hears of it, if it was given so: then this machine's clock need not be right. */
  readonly inMs: number | null

  constructor(when: Date | number, message = 'The handler requested a retry.', options?: ErrorOptions) {
    super(message, options)
    this.at = when instanceof Date ? when : new Date(Date.now() + when)
    this.inMs = when instanceof Date ? null : Math.max(0, Math.ceil(when))
    if (Number.isNaN(this.at.getTime()))
      throw new TypeError('RetryAt requires a Date or a number of milliseconds')
  }
}
