/**
 * Decides which fired runs wait in a side lane beside their own lane: those that wait for room in a line that has had none for
 * a long time, and those of crowded tasks. Runs with a concurrency key start in strict order, so they always wait in the lane
 * of the key.
 */
import { crowdLaneOf, type SideLane, sideLaneOf } from '../core/run/lane.ts'
import type { Queryable } from '../store/database/database.ts'
import { SideLaneRegistry } from '../transport/lane-registry.ts'
import { LOCAL, type LocalWorker } from '../transport/local-worker.ts'
import { CrowdedTasks } from './crowded-tasks.ts'
import type { Decided } from './firing.ts'
import type { Overflows } from './overflows.ts'

export interface SidesOptions {
  readonly db: Queryable
  /** The worker of this process; null if all fired runs wait for other workers. */
  readonly worker: Pick<LocalWorker, 'isBacklogged'> | null
  readonly overflows: Overflows
}

export class Sides {
  readonly #options: SidesOptions
  readonly #registry = new SideLaneRegistry()
  readonly #crowds = new CrowdedTasks()

  constructor(options: SidesOptions) {
    this.#options = options
  }

  /** Returns the side lanes of the runs that do not wait in their own lane, once these lanes are registered. */
  async of(decided: readonly Decided[]): Promise<ReadonlyMap<Decided, number>> {
    const sides = this.#options.worker === null ? this.#ofCrowds(decided) : this.#ofLines(decided)
    if (sides.size === 0) return new Map()
    const known = await this.#registry.ensure(this.#options.db, [...sides.values()])
    return new Map([...sides].flatMap(([due, { id }]) => (known.has(id) ? [[due, id]] : [])))
  }

  #ofLines(decided: readonly Decided[]): ReadonlyMap<Decided, SideLane> {
    const { worker, overflows } = this.#options
    const sides = new Map<Decided, SideLane>()
    if (worker?.isBacklogged) return sides
    for (const due of decided) {
      const { row, definition, line = LOCAL } = due
      if (definition.concurrencyKey === null && overflows.isStuck(line))
        sides.set(due, sideLaneOf(row.lane, line.name))
    }
    return sides
  }

  #ofCrowds(decided: readonly Decided[]): ReadonlyMap<Decided, SideLane> {
    const free = decided.filter(
      ({ definition, decision }) => definition.concurrencyKey === null && decision.catchUp === null,
    )
    const crowded = this.#crowds.note(
      free.map(({ row }) => row.taskId),
      performance.now(),
    )
    if (crowded.size === 0) return new Map()
    const isCrowded = ({ row }: Decided) => crowded.has(row.taskId)
    return new Map(free.filter(isCrowded).map((due) => [due, crowdLaneOf(due.row.lane, due.row.taskId)]))
  }
}
