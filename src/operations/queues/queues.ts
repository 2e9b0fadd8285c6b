import { Refusal } from '../../core/errors.ts'
import { setQueueLimit } from '../../store/queues/gates.ts'
import {
  findQueue,
  listQueues,
  makeQueue,
  type QueuePage,
  type QueueRow,
  setQueuePaused,
} from '../../store/queues/queues.ts'
import type { Context } from '../context.ts'

/** One page of the queues, in the order of their names. All statements know an index for what they read. */
export function readQueues(
  { db, projectId }: Context,
  page: Omit<QueuePage, 'projectId'>,
): Promise<QueueRow[]> {
  return db.snapshot((tx) => tx.run(listQueues({ projectId, ...page })), { inOrder: true })
}

export async function getQueue({ db, projectId }: Context, name: string): Promise<QueueRow> {
  const [queue] = await db.run(findQueue({ projectId, name }))
  if (!queue)
    throw new Refusal(
      'not_found',
      `Queue '${name}' does not exist. A queue is created when a task first uses it.`,
    )
  return queue
}

/** While a queue is paused its runs come due, wait, and are not started. A queue that nobody has used yet is made. */
export async function pauseQueue(context: Context, name: string, isPaused: boolean): Promise<QueueRow> {
  const { db, projectId, wakeUps } = context
  await db.run(makeQueue({ projectId, name }))
  await db.run(setQueuePaused({ projectId, name, isPaused }))
  wakeUps.announceQueues()
  return getQueue(context, name)
}

/** Says how many runs of a queue may be in progress at once. What is in progress already goes on and counts. */
export async function limitQueue(context: Context, name: string, limit: number | null): Promise<QueueRow> {
  const { db, projectId, wakeUps } = context
  await db.run(makeQueue({ projectId, name }))
  await db.run(setQueueLimit({ projectId, name, limit }))
  wakeUps.announceQueues()
  return getQueue(context, name)
}
