/** Tracks when lines without room may have some again, with one timer for all lines, set to the earliest. */
import { Heap } from '../../runtime/heap.ts'
import type { Line } from './target-line.ts'

/** Shares of a rate change with the number of nodes, so every line is checked again within this time. */
const MAX_WAIT_MS = 30_000

interface Opening {
  readonly line: Line
  readonly at: number
}

export class Openings {
  readonly #now: () => number
  readonly #onDue: () => void
  /** A line may have several entries; only the one that equals its `expectedAt` counts. */
  readonly #heap = new Heap<Opening>((a, b) => a.at - b.at)
  #timer: NodeJS.Timeout | undefined
  #timerAt = Number.POSITIVE_INFINITY

  constructor(now: () => number, onDue: () => void) {
    this.#now = now
    this.#onDue = onDue
  }

  /** Expects an opening of the line; does nothing if `opensAt` is infinite. */
  expect(line: Line, opensAt: number): void {
    if (opensAt === Number.POSITIVE_INFINITY) return
    const at = Math.min(opensAt, this.#now() + MAX_WAIT_MS)
    if (at >= line.expectedAt) return
    line.expectedAt = at
    this.#heap.push({ line, at })
    this.#arm()
  }

  /** Removes and returns the next line that is due; undefined if there is none. */
  next(now: number): Line | undefined {
    for (;;) {
      const first = this.#heap.first
      if (first === undefined || first.at > now) return undefined
      this.#heap.pop()
      if (first.line.expectedAt !== first.at) continue
      first.line.expectedAt = Number.POSITIVE_INFINITY
      return first.line
    }
  }

  /** Sets the timer to the earliest opening. */
  #arm(): void {
    const at = this.#heap.first?.at
    if (at === undefined || at >= this.#timerAt) return
    clearTimeout(this.#timer)
    this.#timerAt = at
    this.#timer = setTimeout(() => this.#fire(), Math.max(1, Math.ceil(at - this.#now())))
    this.#timer.unref()
  }

  #fire(): void {
    this.#timerAt = Number.POSITIVE_INFINITY
    this.#onDue()
    this.#arm()
  }

  close(): void {
    clearTimeout(this.#timer)
    this.#timerAt = Number.NEGATIVE_INFINITY
  }
}
