/**
 * For how long a runner may go on. The worker that started it says so every second; when it falls silent, because it hangs, is stopped or
 * dead, the program ends before the attempt can have gone to another worker.
 *
 * It says until when, by the clock that all processes of a machine share: a machine with much to do may let a word wait in the pipe for
 * seconds, and then it must count neither for longer than it was meant nor as silence.
 */
export class LeaseWatch {
  readonly #onOver: () => void
  #until = Number.POSITIVE_INFINITY
  #timer: NodeJS.Timeout | undefined

  constructor(onOver: () => void) {
    this.#onOver = onOver
  }

  /** The attempt is ours until then, whatever was said before. */
  renew(certainUntil: number): void {
    clearTimeout(this.#timer)
    this.#until = certainUntil
    // What has arrived meanwhile is read between a timer and the check.
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

/** The instant on a clock that is never set, and is the same for all processes of a machine. */
export const monotonicMs = (): number => Number(process.hrtime.bigint()) / NS_PER_MS
