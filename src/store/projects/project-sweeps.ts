/** Applies the archiving or restoring of a project to its tasks, one slice at a time. */
import { sql } from '../database/sql.ts'

/** A project whose tasks have not all been updated yet. */
export interface ProjectSweep {
  readonly projectId: string
  readonly sweep: 'silence' | 'restore'
  /** The last task that was examined; null at the beginning. */
  readonly after: string | null
  /** Whether requests that began before every node knew of the change may still be in progress. */
  readonly isFresh: boolean
  /** Whether some of the tasks so far could not be changed. */
  readonly hasLeftSome: boolean
}

/**
 * Locks a project for the next slice: no other transaction can archive or restore it meanwhile, but tasks can refer to it. The
 * project is chosen at random, so that one whose tasks cannot be changed does not delay the others.
 */
export const holdSweep = ({ settleMs }: { settleMs: number }) => sql<ProjectSweep>`
  select id as "projectId", sweep, sweep_after as after, sweep_left_some as "hasLeftSome",
         coalesce(archived_at > now() - make_interval(secs => ${settleMs}::float8 / 1000), false) as "isFresh"
  from project where sweep is not null
  order by random() limit 1
  for no key update skip locked`

/** Stores the progress of the walk; null restarts it. */
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

/** A task of a slice, and whether it must be changed. */
export interface SweepSlice {
  readonly id: string
  readonly isConcerned: boolean
}

/** Returns the next tasks of a project, and which of them would still run. A backfill with a rate may have no row at the moment. */
export const tasksToSilence = ({ projectId, after, limit }: SliceQuery) => sql<SweepSlice>`
  with slice as materialized (
    select id, cancelled_at from task
    where project_id = ${projectId} and deleted_at is null and (${after}::uuid is null or id > ${after}::uuid)
    order by id limit ${limit}
  )
  select s.id, s.cancelled_at is null and (
    exists (select from agenda a where a.task_id = s.id and a.kind <> 'resume' and a.cancel_at is null)
    or exists (select from backfill b where b.task_id = s.id and b.state = 'running')) as "isConcerned"
  from slice s order by s.id`

/** Returns the next tasks of a project, and which of them were paused with it. */
export const tasksToRestore = ({ projectId, after, limit }: SliceQuery) => sql<SweepSlice>`
  select id, archived_at is not null as "isConcerned" from task
  where project_id = ${projectId} and deleted_at is null and (${after}::uuid is null or id > ${after}::uuid)
  order by id limit ${limit}`

interface SliceQuery {
  readonly projectId: string
  readonly after: string | null
  readonly limit: number
}

/**
 * Records that an active task is paused with its project; a task that is already paused is left out, and stays paused when the
 * project is restored.
 */
export const noteSilenced = (taskId: string) => sql<{ id: string }>`
  update task set archived_at = coalesce(archived_at, now()) where id = ${taskId} and paused_at is null and cancelled_at is null
  returning id`

export const forgetSilenced = (taskId: string) => sql`update task set archived_at = null where id = ${taskId}`

/** Cancels the redrives of a project, because they would start runs. */
export const cancelRedrivesOf = (projectId: string) => sql`
  update redrive set state = 'cancelled', ended_at = now(), leased_until = '-infinity'
  where project_id = ${projectId} and state = 'running'`
