/**
 * What waits in the order in which it came. An array would move everything with each one that is taken from a long one, and
 * whoever looks for the first entry of a Map passes all that were deleted before it.
 */
export class Fifo<T> {
  #items: T[] = []
  /** Where the first one is: what is before it was taken. */
  #head = 0

  get size(): number {
    return this.#items.length - this.#head
  }

  get first(): T | undefined {
    return this.#items[this.#head]
  }

  push(item: T): void {
    this.#items.push(item)
  }

  pop(): T | undefined {
    if (this.size === 0) return undefined
    const item = this.#items[this.#head]
    this.#items[this.#head] = undefined as T
    this.#head++
    if (this.#head >= LEAST_DROPPED && 2 * this.#head >= this.#items.length) {
      this.#items = this.#items.slice(this.#head)
      this.#head = 0
    }
    return item
  }

  *[Symbol.iterator](): Iterator<T> {
    for (let i = this.#head; i < this.#items.length; i++) yield this.#items[i] as T
  }
}

/** The array is shortened once this many places at its front are empty, and they are half of it. */
const LEAST_DROPPED = 32
