/** A binary heap: finds the first of many items in logarithmic time. Equal items are returned in any order. */
export class Heap<T> {
  readonly #items: T[] = []
  readonly #compare: (a: T, b: T) => number

  constructor(compare: (a: T, b: T) => number) {
    this.#compare = compare
  }

  get size(): number {
    return this.#items.length
  }

  get first(): T | undefined {
    return this.#items[0]
  }

  /** Iterates over all items, in any order. */
  [Symbol.iterator](): Iterator<T> {
    return this.#items.values()
  }

  push(item: T): void {
    const items = this.#items
    let i = items.push(item) - 1
    while (i > 0) {
      const parent = (i - 1) >> 1
      const above = items[parent] as T
      if (this.#compare(above, item) <= 0) break
      items[i] = above
      i = parent
    }
    items[i] = item
  }

  pop(): T | undefined {
    const items = this.#items
    const [top] = items
    const last = items.pop()
    if (last === undefined || items.length === 0) return last
    let i = 0
    for (;;) {
      let child = 2 * i + 1
      if (child >= items.length) break
      if (child + 1 < items.length && this.#compare(items[child + 1] as T, items[child] as T) < 0) child++
      if (this.#compare(items[child] as T, last) >= 0) break
      items[i] = items[child] as T
      i = child
    }
    items[i] = last
    return top
  }

  /** Removes all items and returns them in any order. */
  clear(): T[] {
    return this.#items.splice(0)
  }
}
