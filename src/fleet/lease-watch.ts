/**
 * For how long a runner may go on. The worker that started it says so every second; when it falls silent, because it hangs, is stopped or
 * dead, the program ends before the attempt can have gone to another worker.
 */
export class LeaseWatch {
  readonly #onOver: () => void
  #timer: NodeJS.Timeout | undefined

  constructor(onOver: () => void) {
    this.#onOver = onOver
  }

  /** The attempt is ours for so long, whatever was said before. */
  renew(certainForMs: number): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(this.#onOver, certainForMs)
  }

  end(): void {
    clearTimeout(this.#timer)
  }
}
