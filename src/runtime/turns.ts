import type { Steps } from '../core/values/steps.ts'

/** After working for this long without a pause, work yields to the rest of the process. */
const TURN_MS = 3

/** Keeps long work from blocking the process. The work checks between small steps whether it should pause. */
export class Turns {
  readonly #turnMs: number
  #begunAt = performance.now()

  constructor(turnMs = TURN_MS) {
    this.#turnMs = turnMs
  }

  get isOver(): boolean {
    return performance.now() - this.#begunAt >= this.#turnMs
  }

  /** Yields to everything else that waits. */
  async pass(): Promise<void> {
    await new Promise(setImmediate)
    this.#begunAt = performance.now()
  }
}

/** Runs the steps of long work and yields to the rest of the process in between. Consecutive pieces of work can share `turns`. */
export async function inTurns<Result>(steps: Steps<Result>, turns = new Turns()): Promise<Result> {
  for (;;) {
    const step = steps.next()
    if (step.done) return step.value
    if (turns.isOver) await turns.pass()
  }
}

/** Applies a function to each of many items, in order, without blocking the process. */
export async function mapInTurns<T, R>(
  items: Iterable<T>,
  work: (item: T, index: number) => R,
): Promise<R[]> {
  const results: R[] = []
  const turns = new Turns()
  for (const item of items) {
    results.push(work(item, results.length))
    if (turns.isOver) await turns.pass()
  }
  return results
}
