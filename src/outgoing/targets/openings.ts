/** When lines that have no room may have some again: one timer for all of them, set to the earliest. */
import { Heap } from '../../runtime/heap.ts'
import type { Line } from './target-line.ts'

/** Shares of a rate change with the number of nodes, so nothing is waited for any longer without another look. */
const MAX_WAIT_MS = 30_000

interface Opening {
  readonly line: Line
  readonly at: number
}

export class Openings {
  readonly #now: () => number
  readonly #onDue: () => void
  /** A line may be in it several times; only what it expects itself counts. */
  readonly #heap = new Heap<Opening>((a, b) => a.at - b.at)
  #timer: NodeJS.Timeout | undefined
  #timerAt = Number.POSITIVE_INFINITY

  constructor(now: () => number, onDue: () => void) {
    this.#now = now
    this.#onDue = onDue
  }

  /** Nothing is expected of a line that opens at infinity. */
  expect(line: Line, opensAt: number): void {
    if (opensAt === Number.POSITIVE_INFINITY) return
    const at = Math.min(opensAt, this.#now() + MAX_WAIT_MS)
    if (at >= line.expectedAt) return
    line.expectedAt = at
    this.#heap.push({ line, at })
    this.#arm()
  }

  /** Takes out the next line that is due; undefined when there is none. */
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
