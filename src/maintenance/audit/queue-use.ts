import { holdWalk } from '../../store/audit/audit-walks.ts'
import type { Database } from '../../store/database/database.ts'
import { renewQueuesOfRuns, renewQueuesOfTasks, saveQueueWalk } from '../../store/queues/queue-use.ts'

/** Number of tasks that one slice examines: their definitions are parsed. */
const SLICE_TASKS = 2_000
/** Number of live rows that one slice examines: only their lane is read. */
const SLICE_RUNS = 10_000
/** With a million tasks a round takes about forty minutes. */
const PAUSE_MS = 4_000
const BETWEEN_ROUNDS_MS = 3_600_000

/** A round covers the tasks first and then the live rows. A run that a task writes meanwhile is found as a live row. */
type Phase = 'tasks' | 'runs'

/**
 * Walks over all tasks and live rows and renews the queues that they name, so that a queue whose task was paused a year ago
 * counts as used. Only a queue that a complete round has not found may be removed.
 */
export class QueueUse {
  readonly #db: Database

  constructor({ db }: { readonly db: Database }) {
    this.#db = db
  }

  /** Handles one slice if one is due. */
  runOnce(): Promise<void> {
    return this.#db.transaction(async (tx) => {
      const [walk] = await tx.run(holdWalk('queues'))
      if (!walk) return
      const { phase, after } = readPosition(walk.position)
      const limit = phase === 'tasks' ? SLICE_TASKS : SLICE_RUNS
      const renew = phase === 'tasks' ? renewQueuesOfTasks : renewQueuesOfRuns
      const [slice] = await tx.run(renew({ after, limit }))
      const isPhaseOver = (slice?.examined ?? 0) < limit
      const position = isPhaseOver ? (phase === 'tasks' ? 'runs' : null) : `${phase} ${slice?.last}`
      const pauseMs = position === null ? BETWEEN_ROUNDS_MS : PAUSE_MS
      await tx.run(saveQueueWalk({ position, isFirst: walk.position === null, pauseMs }))
    })
  }
}

/** The phase, and the last row that was seen in it. */
function readPosition(position: string | null): { phase: Phase; after: string | null } {
  const [phase, after = null] = position?.split(' ') ?? []
  return { phase: phase === 'runs' ? 'runs' : 'tasks', after }
}
