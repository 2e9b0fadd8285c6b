/**
 * Tasks that are identified by a number, and run a program that is uploaded after the task was created. The number is part of
 * the key, which is unique in the project, so it needs no other storage.
 */
import type { ExecAction } from '../../core/action/action.ts'
import { Refusal } from '../../core/errors.ts'
import { uuidv7 } from '../../core/ids.ts'
import type { TaskInput } from '../../core/task/task-input.ts'
import type { Queryable } from '../../store/database/database.ts'
import { withDeadlockRetry } from '../../store/database/retry-on-deadlock.ts'
import { insertFile } from '../../store/files/files.ts'
import { hasKey, nextTaskNumber } from '../../store/tasks/task-numbers.ts'
import { findTasks, type TaskRow } from '../../store/tasks/tasks.ts'
import type { Context } from '../context.ts'
import { UPLOAD_HOURS } from '../files/addresses.ts'
import { type Answer, answerOnce } from '../idempotency.ts'
import { admitTasks, limitsStorage } from '../limits/admit-tasks.ts'
import { limitsOf } from '../limits/task-limits.ts'
import { type CreateRequest, newTask, storageOf, storeOne } from './create-task.ts'
import { withWaits } from './task-files.ts'

export const keyOfNumber = (number: number): string => `task-${number}`

/** Returns the number in the key of a task; null if the key has none. */
export function numberOf({ key }: Pick<TaskRow, 'key'>): number | null {
  const digits = /^task-([1-9]\d{0,9})$/.exec(key ?? '')?.[1]
  return digits === undefined ? null : Number(digits)
}

/** A task to create; its action is to run the program that will be uploaded. */
export interface NumberedRequest extends Omit<CreateRequest, 'input'> {
  readonly fields: Omit<TaskInput, 'action' | 'key' | 'name'>
}

/** Stores a task, its number and the file that it waits for: all of them or none. */
export function createNumberedTask(context: Context, request: NumberedRequest): Promise<Answer> {
  const { fields, traceparent, repeat, present } = request
  const { db, projectId, lanes } = context
  return answerOnce(context, repeat, async () => {
    const limits = await limitsOf(context)
    let noteLane = () => {}
    const answer = await withDeadlockRetry(db, async (tx) => {
      const key = keyOfNumber(await freeNumber(tx, projectId))
      const file = await storeWaiting(tx, context, key)
      const input = { ...fields, key, name: key, action: { type: 'exec', file } as const }
      const { task, lane } = newTask(context, input, { traceparent, limits })
      if (limitsStorage(limits.project)) await admitTasks(tx, context, limits.project, storageOf([task]))
      const tasks = await withWaits(tx, projectId, [task], () => '')
      const stored = await storeOne(context, tx, { tasks, repeat, present })
      noteLane = await lanes.register(tx, await lanes.unregistered(tx, [lane]))
      return stored.answer
    })
    noteLane()
    return answer
  })
}

/** How many numbers to try: users may have given other tasks such keys. */
const MAX_TAKEN = 1_000

async function freeNumber(tx: Queryable, projectId: string): Promise<number> {
  for (let tried = 0; tried < MAX_TAKEN; tried += 1) {
    const [next] = await tx.run(nextTaskNumber(projectId))
    const number = next?.number ?? 0
    const [taken] = await tx.run(hasKey({ projectId, key: keyOfNumber(number) }))
    if (!taken?.exists) return number
  }
  throw new Refusal(
    'key_in_use',
    `No task number is available: the keys task-… of the next ${MAX_TAKEN} numbers are in use. Change the keys of these tasks.`,
  )
}

/** Not recorded on its own: the file is part of the task, which has its own entry in the audit log. */
async function storeWaiting(
  tx: Queryable,
  { projectId, clock }: Pick<Context, 'projectId' | 'clock'>,
  name: string,
): Promise<string> {
  const id = uuidv7()
  const uploadExpiresAt = clock.now() + UPLOAD_HOURS * 3_600_000
  await tx.run(
    insertFile({ id, projectId, name, size: null, sha256: null, contentId: null, uploadExpiresAt }),
  )
  return id
}

/** Returns a task by its number, and the file of its program. */
export async function findNumberedTask(
  { db, projectId }: Pick<Context, 'db' | 'projectId'>,
  number: number,
): Promise<{ readonly task: TaskRow; readonly fileId: string }> {
  const [task] = await db.run(findTasks({ projectId, key: keyOfNumber(number), limit: 1 }))
  const fileId = task && (task.definition.action as ExecAction).file
  if (task && fileId !== undefined) return { task, fileId }
  throw new Refusal('not_found', `Task ${number} does not exist.`)
}
