/**
 * The connections to the database that requests of one kind may use at once. What lists may use is less than there are,
 * so that however many are asked for, and however long each takes, others find one. Who finds no place waits for a while.
 */
export class Places {
  readonly #count: number
  readonly #maxWaiting: number
  readonly #maxWaitMs: number
  readonly #waiting = new Set<() => void>()
  #taken = 0

  constructor({
    count,
    maxWaiting,
    maxWaitMs,
  }: {
    readonly count: number
    readonly maxWaiting: number
    readonly maxWaitMs: number
  }) {
    this.#count = count
    this.#maxWaiting = maxWaiting
    this.#maxWaitMs = maxWaitMs
  }

  /** Takes a place, and answers whether there was one in time. */
  enter(): true | Promise<boolean> {
    if (this.#taken < this.#count) {
      this.#taken++
      return true
    }
    if (this.#waiting.size >= this.#maxWaiting) return Promise.resolve(false)
    return new Promise((resolve) => {
      const timer = setTimeout(() => {
        this.#waiting.delete(enter)
        resolve(false)
      }, this.#maxWaitMs)
      const enter = () => {
        clearTimeout(timer)
        resolve(true)
      }
      this.#waiting.add(enter)
    })
  }

  /** Gives a place back, to whoever has waited longest. */
  leave(): void {
    const [next] = this.#waiting
    if (next === undefined) {
      this.#taken--
      return
    }
    this.#waiting.delete(next)
    next()
  }
}
