/** Redrives, which rerun many dead letters: the requests, their progress, and the leases of the nodes that carry them out. */

import { list, sql } from '../database/sql.ts'
import type { DeadLetterFilter } from './dead-letters.ts'
import type { RunPosition } from './run-search.ts'

export const REDRIVE_STATES = ['running', 'completed', 'cancelled', 'expired'] as const
export type RedriveState = (typeof REDRIVE_STATES)[number]

/** A redrive as stored. */
export interface RedriveRow {
  readonly id: string
  readonly projectId: string
  readonly filter: DeadLetterFilter
  /** Runs per second. */
  readonly rate: number
  readonly state: RedriveState
  readonly createdAt: number
  readonly endedAt: number | null
  readonly redriven: number
  /** Number of dead letters that cannot be run again. */
  readonly refused: number
  /** Number of dead letters that wait until another run of their task has ended. */
  readonly waiting: number
  readonly lastError: string | null
  readonly fence: number
}

export const insertRedrive = (redrive: {
  readonly id: string
  readonly projectId: string
  readonly filter: DeadLetterFilter
  readonly rate: number
}) => sql`
  insert into redrive (id, project_id, filter, rate)
  values (${redrive.id}, ${redrive.projectId}, ${JSON.stringify(redrive.filter)}::jsonb, ${redrive.rate}::float8)`

export const findRedrives = ({
  projectId,
  id = null,
  before = null,
  limit,
}: {
  projectId: string
  id?: string | null
  before?: string | null
  limit: number
}) => sql<RedriveRow>`
  select id, project_id as "projectId", filter, rate, state, created_at as "createdAt", ended_at as "endedAt", redriven, refused, waiting,
         last_error as "lastError", fence
  from redrive
  where project_id = ${projectId} and (${id}::uuid is null or id = ${id}::uuid) and (${before}::uuid is null or id < ${before}::uuid)
  order by id desc limit ${limit}`

/** Cancels a running redrive; a node working on it loses its lease. */
export const cancelRedrive = ({ projectId, id }: { projectId: string; id: string }) => sql<{ id: string }>`
  update redrive set state = 'cancelled', ended_at = now(), fence = fence + 1
  where project_id = ${projectId} and id = ${id} and state = 'running'
  returning id`

/**
 * Returns running redrives that are due and not leased by any node, except those in `except`. Projects take turns, beginning with
 * those that have the fewest among `inProgress`; within a project, the one that has been due longest is first.
 */
export const unleasedRedrives = ({
  limit,
  except,
  inProgress,
}: {
  limit: number
  except: readonly string[]
  /** The projects of the redrives that this node works on, once for each. */
  inProgress: readonly string[]
}) => sql<{
  id: string
  projectId: string
}>`
  select id, project_id as "projectId"
  from (
    select id, project_id, leased_until, row_number() over (partition by project_id order by leased_until, id) as place
    from redrive
    where state = 'running' and leased_until <= now() and id <> all(${list(except, (id) => id)}::uuid[])
  ) due
  left join (
    select project_id, count(*) as places from unnest(${list(inProgress, (id) => id)}::uuid[]) as one (project_id) group by project_id
  ) taken using (project_id)
  order by place + coalesce(places, 0), leased_until, id limit ${limit}`

/** A redrive that this node has leased. */
export interface LeasedRedrive extends RedriveRow {
  /** Where its pass through the dead letters continues, if the lease before this one stored it; null for a new pass. */
  readonly passPosition: RunPosition | null
  /** How long it has been due, up to a second, after which nodes look for redrives. */
  readonly lateMs: number
}

/** Leases those of the given redrives that are not leased by any node. */
export const leaseRedrives = ({
  redrives,
  leaseMs,
}: {
  redrives: readonly { readonly id: string }[]
  leaseMs: number
}) => sql<LeasedRedrive>`
  with due as materialized (
    select id as due_id, leased_until as due_at from redrive
    where id = any(${list(redrives, ({ id }) => id)}::uuid[]) and state = 'running' and leased_until <= now()
    for update skip locked
  )
  update redrive set fence = fence + 1, leased_until = now() + ${leaseMs}::float8 * interval '1 millisecond'
  from due where id = due_id
  returning id, project_id as "projectId", filter, rate, state, created_at as "createdAt", ended_at as "endedAt", redriven, refused, waiting,
            last_error as "lastError", fence, case when (pass_position ->> 'fence')::bigint = fence - 1 then pass_position - 'fence' end as "passPosition",
            case when isfinite(due_at) then extract(epoch from now() - greatest(due_at, now() - interval '1 second'))::float8 * 1000 else 0 end as "lateMs"`

/** What was done since progress was last stored, and the resulting state. */
export interface RedriveProgress {
  readonly id: string
  readonly fence: number
  readonly redriven: number
  readonly refused: number
  readonly waiting: number
  readonly lastError: string | null
  readonly passPosition: RunPosition | null
  readonly state: RedriveState
  /** For how long no other node may lease it: a lease, or, once this node does nothing more, the time until it is due again. */
  readonly reservedMs: number
}

/** Stores progress and renews or releases the lease; no row if the lease was lost. */
export const saveRedrive = ({
  id,
  fence,
  redriven,
  refused,
  waiting,
  lastError,
  passPosition,
  state,
  reservedMs,
}: RedriveProgress) => sql<{ id: string }>`
  update redrive set redriven = redriven + ${redriven}::integer, refused = ${refused}::integer, waiting = ${waiting}::integer,
    last_error = coalesce(${lastError}, last_error), state = ${state}, ended_at = case when ${state} <> 'running' then now() end,
    pass_position = ${passPosition === null ? null : JSON.stringify({ ...passPosition, fence })}::jsonb,
    leased_until = case when ${state} = 'running' then now() + ${reservedMs}::float8 * interval '1 millisecond' else '-infinity' end
  where id = ${id} and fence = ${fence} and state = 'running'
  returning id`

export const deleteOldRedrives = (olderThanDays: number) => sql`
  delete from redrive where ended_at < now() - make_interval(days => ${olderThanDays}::integer)`
