import { Refusal } from '../../core/errors.ts'
import { listQueues, type QueueRow, setQueuePaused } from '../../store/queues.ts'
import type { Context } from './context.ts'

export function allQueues({ db, projectId }: Context): Promise<QueueRow[]> {
  return db.run(listQueues({ projectId }))
}

export async function getQueue({ db, projectId }: Context, name: string): Promise<QueueRow> {
  const [queue] = await db.run(listQueues({ projectId, name }))
  if (!queue) throw new Refusal('not_found', `There is no queue '${name}': no task has named it.`)
  return queue
}

/** While a queue is paused its runs come due, wait, and are not started. */
export async function pauseQueue(context: Context, name: string, isPaused: boolean): Promise<QueueRow> {
  const { db, projectId, wakeUps } = context
  await db.run(setQueuePaused({ projectId, name, isPaused }))
  if (!isPaused) wakeUps.announceReady()
  return getQueue(context, name)
}
