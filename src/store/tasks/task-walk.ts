/**
 * Finds tasks in states that follow from their live rows, by walking along the tasks, newest first. Each task costs one lookup
 * in the agenda's index by task, which exists for other reasons: nothing is stored for these searches.
 */
import type { TaskState } from '../../core/task/task.ts'
import { part, sql } from '../database/sql.ts'
import { isAskedFor, type TaskQuery } from './tasks.ts'

/** Number of tasks that one statement examines. To examine more, continue after the last of them. */
export const TASKS_PER_SLICE = 10_000

/** States that cannot be determined from the task row alone. */
export type WalkedState = Exclude<TaskState, 'paused' | 'cancelled'>

export const isWalked = (state: TaskState | undefined): state is WalkedState =>
  state !== undefined && state !== 'paused' && state !== 'cancelled'

/** Which tasks to find. */
export interface SliceQuery extends Omit<TaskQuery, 'id' | 'ids' | 'key' | 'limit'> {
  readonly state: WalkedState
  /** Number of matching tasks after which the walk may end early. */
  readonly wanted: number
  readonly slice?: number
}

/** A task in the requested state, or the last one of a slice that was examined completely. */
export interface WalkedTask {
  readonly id: string
  readonly isInState: boolean
  readonly isLast: boolean
}

export const tasksInSlice = ({ wanted, slice = TASKS_PER_SLICE, ...q }: SliceQuery) => sql<WalkedTask>`
  select id, is_in_state as "isInState", place = ${slice} as "isLast"
  from (
    select t.id, t.place, t.cancelled_at is null and t.paused_at is null and ${IN_STATE[q.state]} as is_in_state
    from (
      select *, row_number() over (order by id desc) as place from task
      where ${isAskedFor(q)}
      order by id desc
      limit ${slice}
    ) t
  ) examined
  where is_in_state or place = ${slice}
  order by id desc
  limit ${wanted}`

/** A `resume` or `skip` row is not a run: it is never claimed, and its kind distinguishes it from runs. */
const IN_STATE: Readonly<Record<WalkedState, ReturnType<typeof part>>> = {
  running: part`(select exists (select from agenda where task_id = t.id and state = 'running' offset 0))`,
  pending: part`(
      select coalesce(bool_or(state <> 'scheduled' or kind not in ('occurrence', 'resume', 'skip')) and not bool_or(state = 'running'), false)
      from agenda where task_id = t.id)`,
  scheduled: part`(
      select case when count(*) = 0 then definition_in_brief(t.definition, t.brief, t.version) -> 'schedule' ->> 'type' = 'manual'
                  else bool_and(state = 'scheduled' and kind in ('occurrence', 'resume', 'skip'))
                       and (bool_or(kind = 'occurrence') or definition_in_brief(t.definition, t.brief, t.version) -> 'schedule' ->> 'type' = 'manual') end
      from agenda where task_id = t.id)`,
  // For a task that is not finished, the index alone answers this.
  finished: part`not (select exists (select from agenda where task_id = t.id and kind not in ('resume', 'skip') offset 0))
      and definition_in_brief(t.definition, t.brief, t.version) -> 'schedule' ->> 'type' is distinct from 'manual'`,
}
