import { Refusal } from '../../core/errors.ts'
import { findTasks, type TaskRow } from '../../store/tasks.ts'
import type { Context } from './context.ts'

export async function getTask({ db, projectId }: Context, id: string): Promise<TaskRow> {
  const [row] = await db.run(findTasks({ projectId, id, limit: 1 }))
  return row ?? notFound(id)
}

export async function getTaskByKey({ db, projectId }: Context, key: string): Promise<TaskRow> {
  const [row] = await db.run(findTasks({ projectId, key, limit: 1 }))
  if (!row) throw new Refusal('not_found', `There is no task with the key '${key}'.`)
  return row
}

export function notFound(id: string): never {
  throw new Refusal('not_found', `There is no task ${id}.`)
}
