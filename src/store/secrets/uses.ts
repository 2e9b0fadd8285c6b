/** Records which tasks refer to which secrets, until an edit, a cancellation or a deletion ends it. */
import { list, part, sql } from '../database/sql.ts'
import { livingUsers, type UserSearch } from '../tasks/living-users.ts'
import type { SecretKey } from './secrets.ts'

/** A task, and the secrets that it refers to. */
export interface SecretUse {
  readonly taskId: string
  readonly names: readonly string[]
}

/** `used`: the secret uses of the tasks to be inserted. */
export const secretUses = (projectId: string, uses: readonly SecretUse[]) => part`used as (
      insert into secret_use (project_id, name, task_id)
      select ${projectId}::uuid, name, task_id
      from unnest(${list(pairsOf(uses), ([name]) => name)}::text[], ${list(pairsOf(uses), ([, taskId]) => taskId)}::uuid[]) as u(name, task_id)
      where exists (select from input)
    )`

const pairsOf = (uses: readonly SecretUse[]): (readonly [string, string])[] =>
  uses.flatMap(({ taskId, names }) => names.map((name) => [name, taskId] as const))

/** Replaces the secrets that a task refers to; an empty list removes them all. */
export const replaceSecretUses = (projectId: string, { taskId, names }: SecretUse) => sql`
  with gone as (
    delete from secret_use where task_id = ${taskId} and not (name = any(${list(names, (name) => name)}::text[]))
  )
  insert into secret_use (project_id, name, task_id)
  select ${projectId}, name, ${taskId} from unnest(${list(names, (name) => name)}::text[]) as u(name)
  on conflict do nothing`

/** Returns tasks that refer to a secret and may still run: neither deleted, cancelled nor finished. */
export const tasksUsing = ({ projectId, name, ...search }: SecretKey & UserSearch) =>
  livingUsers({
    ...search,
    projectId,
    // In the order of the primary key: along the index by task, uses of all other secrets might be examined.
    latestUse: part`
      select task_id from (
        select project_id, name, task_id from secret_use
        where (project_id, name, task_id) <= (${projectId}::uuid, ${name}::text, w.alive)
          and (project_id, name, task_id) < (${projectId}::uuid, ${name}::text, w.task_id)
        order by project_id desc, name desc, task_id desc limit 1
      ) latest where project_id = ${projectId}::uuid and name = ${name}`,
    isAnyAlive: part`false`,
    user: part`select id, name, key from task where id = w.task_id and cancelled_at is null`,
  })
