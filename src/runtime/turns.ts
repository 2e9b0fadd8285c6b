import type { Steps } from '../core/values/steps.ts'

/** After working so long on end, everything else that the process does has its turn. */
const TURN_MS = 3

/** Keeps long work from holding up the process: whoever does it asks between two small pieces whether to pause. */
export class Turns {
  readonly #turnMs: number
  #begunAt = performance.now()

  constructor(turnMs = TURN_MS) {
    this.#turnMs = turnMs
  }

  get isOver(): boolean {
    return performance.now() - this.#begunAt >= this.#turnMs
  }

  /** Lets everything else that waits have its turn. */
  async pass(): Promise<void> {
    await new Promise(setImmediate)
    this.#begunAt = performance.now()
  }
}

/** Takes the steps of long work with turns for everything else in between; `turns` is shared by pieces of work that follow one another. */
export async function inTurns<Result>(steps: Steps<Result>, turns = new Turns()): Promise<Result> {
  for (;;) {
    const step = steps.next()
    if (step.done) return step.value
    if (turns.isOver) await turns.pass()
  }
}

/** Does something with each of many items, in order, without keeping the process from anything else meanwhile. */
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
