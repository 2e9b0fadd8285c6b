/** Finds tasks, runs and files by a prefix of their ids, which is a range of the indexes by id. */
import { sql } from '../database/sql.ts'

/** An object whose id is in the range. */
export interface FoundId {
  readonly id: string
  readonly type: 'task' | 'run' | 'file'
  /** The name of the task or file; for a task without a name, its key. */
  readonly name: string | null
}

/** The range of ids, both ends inclusive. */
export interface IdRange {
  readonly projectId: string
  readonly least: string
  readonly greatest: string
  readonly limit: number
}

export const tasksInRange = ({ projectId, least, greatest, limit }: IdRange) => sql<FoundId>`
  select id, 'task' as type, coalesce(name, key) as name from task
  where project_id = ${projectId} and deleted_at is null and id between ${least}::uuid and ${greatest}::uuid
  order by id limit ${limit}`

export const filesInRange = ({ projectId, least, greatest, limit }: IdRange) => sql<FoundId>`
  select id, 'file' as type, name from file
  where project_id = ${projectId} and id between ${least}::uuid and ${greatest}::uuid
  order by id limit ${limit}`

/** Returns runs that are live or have ended since `madeAt`; future occurrences are not runs. */
export const runsInRange = ({
  projectId,
  least,
  greatest,
  limit,
  madeAt,
}: IdRange & { madeAt: number }) => sql<FoundId>`
  select id, 'run' as type, (select coalesce(name, key) from task where id = r.task_id) as name
  from (
    (select run_id as id, task_id from agenda
     where project_id = ${projectId} and run_id between ${least}::uuid and ${greatest}::uuid
       and (state <> 'scheduled' or kind not in ('occurrence', 'resume', 'skip'))
     order by run_id limit ${limit})
    union all
    (select run_id, task_id from run
     where project_id = ${projectId} and run_id between ${least}::uuid and ${greatest}::uuid
       and ended_at >= to_timestamp(${madeAt}::float8 / 1000) - interval '1 day'
     order by run_id limit ${limit})
  ) r
  order by id limit ${limit}`
