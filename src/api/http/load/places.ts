/**
 * The database connections that requests of one kind can use at once. Lists get fewer than there are, so that other
 * requests find a connection however many lists are requested and however long each takes. A request without a place
 * waits for a bounded time.
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

  /** Takes a place; returns false if none became free in time. */
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

  /** Releases a place, to the request that has waited longest. */
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

/** Takes a place of each, in order. If one has none in time, those already taken are returned. */
export async function enterAll(all: readonly Places[]): Promise<boolean> {
  for (const [i, places] of all.entries()) {
    const entered = places.enter()
    if (entered === true || (await entered)) continue
    leaveAll(all.slice(0, i))
    return false
  }
  return true
}

/** Returns a place of each. */
export function leaveAll(all: readonly Places[]): void {
  for (const places of all) places.leave()
}
