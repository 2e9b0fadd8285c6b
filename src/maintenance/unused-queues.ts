import type { Database } from '../store/database/database.ts'
import {
  lockUnusedQueues,
  type QueueName,
  removeGates,
  removeLanes,
  removeQueues,
  renewOccupied,
} from '../store/queues/unused-queues.ts'
import type { Logger } from '../telemetry/logger.ts'

/** Maximum number of queues removed in one pass. */
const MAX_QUEUES = 100
/** Maximum number of lanes and of gates removed in one pass: a queue may have had any number of concurrency keys. */
const MAX_LANES = 5_000

export interface UnusedQueuesOptions {
  readonly db: Database
  readonly log: Logger
  /** Queues unused for longer are removed; 0 removes none. */
  readonly days: number
}

/**
 * Removes queues that no task names and in which no run waits. Safe to run on every node at once, and concurrently with code
 * that is about to use one of them: it waits for the removal and creates the queue again. A run that nevertheless ends up in a
 * removed lane is found by the lane repair.
 */
export class UnusedQueues {
  readonly #options: UnusedQueuesOptions

  constructor(options: UnusedQueuesOptions) {
    this.#options = options
  }

  /** Makes one pass; returns true if there may be more to remove. */
  async runOnce(): Promise<boolean> {
    const { db, log, days } = this.#options
    if (days === 0) return false
    const { found, removed } = await db.transaction(async (tx) => {
      const locked = await tx.run(lockUnusedQueues({ days, limit: MAX_QUEUES }))
      if (locked.length === 0) return { found: 0, removed: [] }
      const occupied = await tx.run(renewOccupied(locked))
      const unused = without(locked, occupied)
      await tx.run(removeLanes(unused, MAX_LANES))
      await tx.run(removeGates(unused, MAX_LANES))
      return { found: locked.length, removed: await tx.run(removeQueues(unused)) }
    })
    if (removed.length > 0)
      log.info({ queues: removed.map(({ name }) => name), unusedQueueDays: days }, 'unused queues removed')
    return found === MAX_QUEUES || removed.length < found
  }
}

function without(queues: readonly QueueName[], others: readonly QueueName[]): QueueName[] {
  const idOf = ({ projectId, name }: QueueName) => `${projectId}/${name}`
  const left = new Set(others.map(idOf))
  return queues.filter((queue) => !left.has(idOf(queue)))
}
