/**
 * Limits how long a runner continues. The worker that started it renews the limit every second. If the worker hangs, is stopped
 * or dies, the program ends before the attempt can go to another worker.
 *
 * The worker sends the end of the lease by a clock that all processes of a machine share. On a busy machine a message can wait
 * in the pipe for seconds; such a delay must neither extend the lease nor count as silence.
 */
export class LeaseWatch {
  readonly #onOver: () => void
  #until = Number.POSITIVE_INFINITY
  #timer: NodeJS.Timeout | undefined

  constructor(onOver: () => void) {
    this.#onOver = onOver
  }

  /** Sets a new end of the lease, in place of the previous one. */
  renew(certainUntil: number): void {
    clearTimeout(this.#timer)
    this.#until = certainUntil
    // `setImmediate` allows messages that have already arrived to be read before the check.
    this.#timer = setTimeout(
      () => setImmediate(() => this.#check()),
      Math.max(0, certainUntil - monotonicMs()),
    )
  }

  end(): void {
    clearTimeout(this.#timer)
    this.#until = Number.POSITIVE_INFINITY
  }

  #check(): void {
    if (monotonicMs() >= this.#until) this.#onOver()
  }
}

const NS_PER_MS = 1e6

/** Returns the time of a clock that is never set and that all processes of a machine share. */
export const monotonicMs = (): number => Number(process.hrtime.bigint()) / NS_PER_MS
