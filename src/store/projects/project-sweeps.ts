/** What is done to the tasks of a project after it was archived or restored, a slice at a time. */
import { sql } from '../database/sql.ts'

/** A project whose tasks are not yet as they should be. */
export interface ProjectSweep {
  readonly projectId: string
  readonly sweep: 'silence' | 'restore'
  /** The last task that was looked at; null at the beginning. */
  readonly after: string | null
  /** Requests that came before everybody knew of the change may still be at work. */
  readonly isFresh: boolean
  /** Some of the tasks before could not be changed. */
  readonly hasLeftSome: boolean
}

/**
 * The right to do the next slice: nobody else archives or restores the project meanwhile. Tasks can refer to it. Any of several, so
 * that one whose tasks cannot be changed does not keep the others back.
 */
export const holdSweep = ({ settleMs }: { settleMs: number }) => sql<ProjectSweep>`
  select id as "projectId", sweep, sweep_after as after, sweep_left_some as "hasLeftSome",
         coalesce(archived_at > now() - make_interval(secs => ${settleMs}::float8 / 1000), false) as "isFresh"
  from project where sweep is not null
  order by random() limit 1
  for no key update skip locked`

/** How far the walk has come; null begins it anew. */
export const saveSweep = ({
  projectId,
  after,
  hasLeftSome,
}: {
  projectId: string
  after: string | null
  hasLeftSome: boolean
}) => sql`
  update project set sweep_after = ${after}::uuid, sweep_left_some = ${hasLeftSome}::boolean where id = ${projectId}`

export const endSweep = (projectId: string) => sql`
  update project set sweep = null, sweep_after = null, sweep_left_some = false where id = ${projectId}`

/** A slice of tasks, and which of them something is to be done to. */
export interface SweepSlice {
  readonly id: string
  readonly isConcerned: boolean
}

/** The next tasks of a project, and which of them would still do something. */
export const tasksToSilence = ({ projectId, after, limit }: SliceQuery) => sql<SweepSlice>`
  with slice as materialized (
    select id, cancelled_at from task
    where project_id = ${projectId} and deleted_at is null and (${after}::uuid is null or id > ${after}::uuid)
    order by id limit ${limit}
  )
  select s.id, s.cancelled_at is null and exists (
    select from agenda a where a.task_id = s.id and a.kind <> 'resume' and a.cancel_at is null) as "isConcerned"
  from slice s order by s.id`

/** The next tasks of a project, and which of them were silenced. */
export const tasksToRestore = ({ projectId, after, limit }: SliceQuery) => sql<SweepSlice>`
  select id, archived_at is not null as "isConcerned" from task
  where project_id = ${projectId} and deleted_at is null and (${after}::uuid is null or id > ${after}::uuid)
  order by id limit ${limit}`

interface SliceQuery {
  readonly projectId: string
  readonly after: string | null
  readonly limit: number
}

/** Notes that a task which goes on is paused with its project; one that is paused already stays so when the project is restored. */
export const noteSilenced = (taskId: string) => sql<{ id: string }>`
  update task set archived_at = coalesce(archived_at, now()) where id = ${taskId} and paused_at is null and cancelled_at is null
  returning id`

export const forgetSilenced = (taskId: string) => sql`update task set archived_at = null where id = ${taskId}`

/** Ends the redrives of a project, which would start runs. */
export const cancelRedrivesOf = (projectId: string) => sql`
  update redrive set state = 'cancelled', ended_at = now(), leased_until = '-infinity'
  where project_id = ${projectId} and state = 'running'`
