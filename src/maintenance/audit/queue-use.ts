import { holdWalk } from '../../store/audit/audit-walks.ts'
import type { Database } from '../../store/database/database.ts'
import { renewQueuesOfRuns, renewQueuesOfTasks, saveQueueWalk } from '../../store/queues/queue-use.ts'

/** Tasks that one slice looks at: their definitions are opened. */
const SLICE_TASKS = 2_000
/** Live rows that one slice looks at: only their lane is read. */
const SLICE_RUNS = 10_000
/** With a million tasks a round takes about forty minutes. */
const PAUSE_MS = 4_000
const BETWEEN_ROUNDS_MS = 3_600_000

/** A round goes over the tasks first and over the live rows then. A run that a task writes meanwhile is met as a live row. */
type Phase = 'tasks' | 'runs'

/**
 * Walks over all tasks and live rows and renews the queues that they name, so that a queue whose task was paused a year ago
 * counts as used. Only what a whole round has not met may be removed.
 */
export class QueueUse {
  readonly #db: Database

  constructor({ db }: { readonly db: Database }) {
    this.#db = db
  }

  /** One slice, if it is time for one. */
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
