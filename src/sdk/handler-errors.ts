/** Errors that a handler throws to control retries. */

/** Ends the run without further retries, regardless of the task's retry limit. */
export class NonRetryable extends Error {
  override readonly name = 'NonRetryable'
}

/** Requests a retry no earlier than an instant: a Date, or milliseconds from now. It counts as one of the task's retries. */
export class RetryAt extends Error {
  override readonly name = 'RetryAt'
  readonly at: Date
  /**
   * Delay in milliseconds from when Belfry receives the report, which does not depend on this machine's clock. Null if a Date
   * was given.
   */
  readonly inMs: number | null

  constructor(when: Date | number, message = 'The handler requested a retry.', options?: ErrorOptions) {
    super(message, options)
    this.at = when instanceof Date ? when : new Date(Date.now() + when)
    this.inMs = when instanceof Date ? null : Math.max(0, Math.ceil(when))
    if (Number.isNaN(this.at.getTime()))
      throw new TypeError('RetryAt requires a Date or a number of milliseconds')
  }
}
