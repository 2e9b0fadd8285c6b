/**
 * A first-in, first-out queue. Removing the first element of a long array would move all others, and finding the first entry of
 * a Map passes all deleted ones before it.
 */
export class Fifo<T> {
  #items: T[] = []
  /** Index of the first item; the places before it are empty. */
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
