/**
 * Puts aside claimed runs whose line turned out to be full. They go to the side lanes of their lines, from which they are not
 * claimed until there is room. Runs with a concurrency key go back to the lane of the key, because they start in strict order;
 * that lane is not claimed from until there is room.
 */
import { sideLaneOf } from '../core/run/lane.ts'
import type { Work } from '../transport/transport.ts'
import type { Capacity } from './capacity.ts'
import type { RunAside } from './returns.ts'
import type { WorkLine } from './work-line.ts'

export interface PutAsideOptions {
  readonly capacity: Capacity
  /** Returns a run to `ready`. */
  giveBack(run: RunAside): void
}

export class PutAside {
  readonly #options: PutAsideOptions
  /** Lanes of keys whose first run waits for room in a line. */
  readonly #blocked = new Map<number, WorkLine>()

  constructor(options: PutAsideOptions) {
    this.#options = options
  }

  /** Number of runs put aside so far. */
  count = 0

  /** Puts a run aside. For a run that is claimed only into a free slot, the next free slot of its line is kept. */
  add(work: Work, line: WorkLine, isStrict: boolean): void {
    const { runId, fence, lane } = work
    this.count++
    line.isSlotKept ||= isStrict
    const isKeyed = work.definition.concurrencyKey !== null
    if (isKeyed && lane !== undefined) this.#blocked.set(lane, line)
    if (!isKeyed && !isStrict) line.hasBacklog = true
    const sideLane = isKeyed || lane === undefined ? null : sideLaneOf(lane, line.line.name)
    this.#options.giveBack({ runId, fence, sideLane })
  }

  /** Returns the lanes of concurrency keys whose first run waits for room that is not yet available. */
  blocked(): ReadonlySet<number> {
    for (const [lane, line] of this.#blocked)
      if (this.#options.capacity.places(line) > 0) this.#blocked.delete(lane)
    return new Set(this.#blocked.keys())
  }

  /** Drops lanes of keys in which no run waits any more; returns the lines for which the first runs of the others wait. */
  linesWaitedFor(occupied: ReadonlySet<number>): ReadonlySet<WorkLine> {
    for (const lane of this.#blocked.keys()) if (!occupied.has(lane)) this.#blocked.delete(lane)
    return new Set(this.#blocked.values())
  }
}
