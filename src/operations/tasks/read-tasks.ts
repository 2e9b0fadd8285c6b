import { Refusal } from '../../core/errors.ts'
import { type BriefTask, findBriefTasks } from '../../store/tasks/brief-tasks.ts'
import { findTasks, type TaskRow } from '../../store/tasks/tasks.ts'
import type { Context } from '../context.ts'

export async function getTask({ db, projectId }: Context, id: string): Promise<TaskRow> {
  const [row] = await db.run(findTasks({ projectId, id, limit: 1 }))
  return row ?? notFound(id)
}

export async function getTaskByKey({ db, projectId }: Context, key: string): Promise<TaskRow> {
  const [row] = await db.run(findTasks({ projectId, key, limit: 1 }))
  if (!row) throw new Refusal('not_found', `No task has the key '${key}'.`)
  return row
}

export function notFound(id: string): never {
  throw new Refusal('not_found', `Task ${id} does not exist.`)
}

/** Number of tasks that one statement reads for a list with long pages. */
const BRIEF_PAGE = 200

/** Returns the newest tasks, for lists with long pages, with only the few fields that these show. */
export async function listBriefly(
  { db, projectId }: Context,
  { owner, before, limit }: { owner?: string; before?: string | undefined; limit: number },
): Promise<BriefTask[]> {
  const rows: BriefTask[] = []
  while (rows.length < limit) {
    const size = Math.min(BRIEF_PAGE, limit - rows.length)
    const page = await db.run(
      findBriefTasks({ projectId, owner, before: rows.at(-1)?.id ?? before, limit: size }),
    )
    rows.push(...page)
    if (page.length < size) break
  }
  return rows
}
