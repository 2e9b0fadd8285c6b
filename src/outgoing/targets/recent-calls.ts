const SLOT_MS = 10_000
const SLOTS = 6

/** Calls that ended in the last minute, and how many of them failed. */
export class RecentCalls {
  readonly #calls = [0, 0, 0, 0, 0, 0]
  readonly #failures = [0, 0, 0, 0, 0, 0]
  #slot = 0

  count(now: number, isFailure: boolean): void {
    this.#advance(now)
    const index = this.#slot % SLOTS
    this.#calls[index] = (this.#calls[index] ?? 0) + 1
    if (isFailure) this.#failures[index] = (this.#failures[index] ?? 0) + 1
  }

  at(now: number): { readonly calls: number; readonly failures: number } {
    this.#advance(now)
    return { calls: sum(this.#calls), failures: sum(this.#failures) }
  }

  #advance(now: number): void {
    const slot = Math.floor(now / SLOT_MS)
    if (slot === this.#slot) return
    const steps = Math.min(slot - this.#slot, SLOTS)
    for (let i = 1; i <= steps; i++) {
      this.#calls[(this.#slot + i) % SLOTS] = 0
      this.#failures[(this.#slot + i) % SLOTS] = 0
    }
    this.#slot = slot
  }
}

const sum = (counts: readonly number[]) => counts.reduce((total, count) => total + count, 0)
