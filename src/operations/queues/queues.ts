import type { AuditAction } from '../../core/audit-log/audit-action.ts'
import { invalidInput, Refusal } from '../../core/errors.ts'
import { utcOrNull } from '../../core/values/utc.ts'
import type { Queryable } from '../../store/database/database.ts'
import { withDeadlockRetry } from '../../store/database/retry-on-deadlock.ts'
import { runsById } from '../../store/history/run-search.ts'
import type { RunRow } from '../../store/history/runs.ts'
import { type QueueRate, setQueueLimit, setQueueRate } from '../../store/queues/queue-limits.ts'
import {
  findQueue,
  findWaiting,
  listQueues,
  makeQueue,
  type QueuePage,
  type QueueRow,
  setQueuePaused,
  type WaitingPage,
  type WaitingPosition,
} from '../../store/queues/queues.ts'
import { requireQueue } from '../access/require.ts'
import { recordChange } from '../audit-log/record-change.ts'
import type { Context } from '../context.ts'

/** Returns one page of the queues, ordered by name. Every statement reads through an index. */
export function readQueues(
  { db, projectId }: Context,
  page: Omit<QueuePage, 'projectId'>,
): Promise<QueueRow[]> {
  return db.snapshot((tx) => tx.run(listQueues({ projectId, ...page })), { inOrder: true })
}

export const getQueue = ({ db, projectId }: Context, name: string): Promise<QueueRow> =>
  readQueue(db, projectId, name)

async function readQueue(tx: Queryable, projectId: string, name: string): Promise<QueueRow> {
  const [queue] = await tx.run(findQueue({ projectId, name }))
  if (!queue)
    throw new Refusal(
      'not_found',
      `Queue '${name}' does not exist. A queue is created when a task first uses it.`,
    )
  return queue
}

/** Runs that wait in a queue, and the position of the next page; null if there are no more. */
export interface WaitingRuns {
  readonly rows: readonly RunRow[]
  readonly next: WaitingPosition | null
}

/** Returns one page of the runs that wait in a queue, in the order in which they will start, from one snapshot. */
export function readWaiting(
  { db, projectId, clock }: Context,
  { name, after, limit }: Omit<WaitingPage, 'projectId'>,
): Promise<WaitingRuns> {
  return db.snapshot(
    async (tx) => {
      await readQueue(tx, projectId, name)
      const found = await tx.run(findWaiting({ projectId, name, after, limit: limit + 1 }))
      const ids = found.slice(0, limit).map(({ id }) => id)
      const rows = await tx.run(runsById({ ids, endedFromUs: clock.now() * 1_000 }))
      const last = rows.at(-1)
      // If the page was cut because of its size, it ends with the last run that was read.
      const end = last?.hasNext ? found.find(({ id }) => id === last.id) : undefined
      return { rows, next: end ?? (found.length > limit ? (found[limit - 1] ?? null) : null) }
    },
    { inOrder: true },
  )
}

/**
 * Pauses or resumes a queue. While it is paused, its runs come due and wait, but do not start. Creates the queue if it does not
 * exist.
 */
export async function pauseQueue(context: Context, name: string, isPaused: boolean): Promise<QueueRow> {
  const { projectId } = context
  return changeQueue(context, { action: isPaused ? 'queue.pause' : 'queue.resume', name }, async (tx) => {
    await tx.run(setQueuePaused({ projectId, name, isPaused }))
  })
}

/** Settings of a queue to change; undefined leaves one unchanged. */
export interface QueueLimits extends QueueRate {
  readonly concurrencyLimit?: number | null | undefined
}

/**
 * Limits how many runs of a queue may be in progress at once, and how many may start. Runs already in progress continue, and
 * count.
 */
export async function limitQueue(
  context: Context,
  name: string,
  { concurrencyLimit: limit, rate, burst }: QueueLimits,
): Promise<QueueRow> {
  const { projectId } = context
  return changeQueue(context, { action: 'queue.limit', name }, async (tx) => {
    if (limit !== undefined) await tx.run(setQueueLimit({ projectId, name, limit }))
    if (rate === undefined && burst === undefined) return
    const [set] = await tx.run(setQueueRate({ projectId, name, rate, burst }))
    if (typeof burst === 'number' && set?.rate === null)
      throw invalidInput([{ pointer: '/burst', detail: 'needs a rate, such as 10/s' }])
  })
}

/** Creates the queue if necessary, which also locks it, and records its state before and after the change. */
async function changeQueue(
  context: Context,
  { action, name }: { action: AuditAction; name: string },
  change: (tx: Queryable) => Promise<void>,
): Promise<QueueRow> {
  const { db, projectId, wakeUps } = context
  requireQueue(context, name)
  const queue = await withDeadlockRetry(db, async (tx) => {
    await tx.run(makeQueue({ projectId, name }))
    const before = await readQueue(tx, projectId, name)
    await change(tx)
    const after = await readQueue(tx, projectId, name)
    const subject = { kind: 'queue', id: name } as const
    await recordChange(tx, context, { action, subject, before: recorded(before), after: recorded(after) })
    return after
  })
  wakeUps.announceQueues()
  return queue
}

/** Returns what users set of a queue, for the audit log. */
const recorded = ({ pausedAt, concurrencyLimit, rate, burst }: QueueRow) => ({
  pausedAt: utcOrNull(pausedAt),
  concurrencyLimit,
  rate,
  burst,
})
