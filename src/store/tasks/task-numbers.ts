import { sql } from '../database/sql.ts'

/** Returns the next task number of a project. Other transactions that request one wait until this one has ended. */
export const nextTaskNumber = (projectId: string) => sql<{ number: number }>`
  insert into task_number (project_id, last) values (${projectId}, 1)
  on conflict (project_id) do update set last = task_number.last + 1
  returning last as number`

/** Returns whether a task of the project has the key. */
export const hasKey = ({ projectId, key }: { projectId: string; key: string }) => sql<{ exists: boolean }>`
  select exists (select from task where project_id = ${projectId} and key = ${key} and deleted_at is null) as exists`
