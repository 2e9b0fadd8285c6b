/** Runs that are leased to a node: finds them, and takes them back from nodes that died or did not begin them. */
import { SHARD_COUNT } from '../../core/ids.ts'
import { LOSS } from '../../core/policy/worker-loss.ts'
import type { WorkerLossPolicy } from '../../core/task/task.ts'
import { list, part, sql } from '../database/sql.ts'
import { freedPlaces, returnedPlaces } from '../queues/gates.ts'
import { queued } from '../ready/put.ts'
import { UNSTORED } from '../tasks/stored-definition.ts'

/** A run leased to a node that was declared dead. */
export interface LostRun {
  readonly runId: string
  readonly taskId: string
  readonly fence: number
  readonly attempt: number
  readonly losses: number
  /** When its attempt started; null if the node may have died before that. */
  readonly startedAt: number | null
  readonly isCancelled: boolean
  readonly onWorkerLoss: WorkerLossPolicy
  readonly retryLimit: number
}

/**
 * A run is claimed a little ahead of its instant, and up to a second or two before a slot is free for it. A node that sent a
 * heartbeat this long after both has started the run; otherwise it is unknown. A node writes nothing when it starts a run: that
 * would cost one statement per run.
 */
const SURELY_BEGUN_MS = 5_000

/** When the attempt of a row `a` of the agenda started, as far as the latest heartbeat of its node `n` shows. */
const begunAt = part`
  case when n.beat_at >= greatest(a.claimed_at, a.wake_at, a.scheduled_for) + ${SURELY_BEGUN_MS}::integer * interval '1 millisecond'
       then greatest(a.claimed_at, a.wake_at, a.scheduled_for) end`

/** Returns runs leased to dead nodes. There is no index by worker: deaths are rare, runs are not. */
export const findLostRuns = ({
  nodes,
  limit,
  except = [],
}: {
  nodes: readonly string[]
  limit: number
  /** Runs to skip. */
  except?: readonly string[]
}) => sql<LostRun>`
  select a.run_id as "runId", a.task_id as "taskId", a.fence, a.attempt, a.losses, ${begunAt} as "startedAt",
         a.cancel_at is not null as "isCancelled",
         coalesce(d.definition ->> 'onWorkerLoss', ${UNSTORED.onWorkerLoss}) as "onWorkerLoss",
         coalesce(o.override #>> '{retry,limit}', d.definition #>> '{retry,limit}', ${String(UNSTORED.retry.limit)})::integer as "retryLimit"
  from agenda a
  join task t on t.id = a.task_id
  left join node n on n.id = a.worker_id
  left join task_version v on v.task_id = a.task_id and v.version = a.version
  left join run_override o on o.run_id = a.run_id
  cross join lateral (
    select coalesce(definition_in_brief(v.definition, v.brief, v.version), definition_in_brief(t.definition, t.brief, t.version)) as definition
  ) d
  where a.worker_id = any(${list(nodes, (id) => id)}::uuid[]) and a.state = 'running'
    and a.run_id <> all(${list(except, (id) => id)}::uuid[])
  limit ${limit}`

/** A run and the fence of its lease. */
export interface LeasedRun {
  readonly runId: string
  readonly fence: number
  /** The side lane to which the run goes if its line has no room; otherwise it returns to its own lane. */
  readonly side?: number | null
  /** The lane to which the run belongs, if that has changed. */
  readonly movedTo?: number | null
}

/** A run whose attempt was lost, and when that attempt started; without `startedAt`, it may not have started. */
export interface BegunRun extends LeasedRun {
  readonly startedAt?: number | null
}

/**
 * Puts lost runs back into `ready` with one more loss and a new fence, so that the writes of a worker that was only suspended
 * are rejected. Of two reapers, or of a reaper and a late worker, exactly one succeeds.
 */
export function reclaimRuns(runs: readonly BegunRun[]) {
  return sql<{ runId: string }>`
    with before as (
      select a.run_id, a.task_id, a.worker_id, a.attempt, a.fence, to_timestamp(i.started_ms / 1000) as started_at, a.gate_id, a.queue_gate_id, a.project_id, a.holds_project_place
      from agenda a
      join unnest(
        ${list(runs, (r) => r.runId)}::uuid[], ${list(runs, (r) => r.fence)}::integer[], ${list(runs, (r) => r.startedAt ?? null)}::float8[])
        as i(run_id, fence, started_ms) on i.run_id = a.run_id
      where a.fence = i.fence and a.state = 'running'
      for update of a
    ), back as (
      update agenda a set state = 'pending', worker_id = null, claimed_at = null, gate_id = null, queue_gate_id = null, holds_project_place = null,
        side = null, fence = a.fence + 1, losses = a.losses + 1
      from before b where a.run_id = b.run_id
      returning a.run_id, a.lane, a.side, a.priority, a.wake_at
    ), ${queued(part`from back`)}, kept as (
      insert into attempt (run_id, task_id, worker_id, started_at, ended_at, number, fence, outcome, error)
      select run_id, task_id, worker_id, started_at, clock_timestamp(), attempt, fence, 'worker_lost',
             jsonb_build_object('code', 'worker_lost', 'message', ${`${LOSS.silent}.`}::text)
      from before
    ), ${freedPlaces}
    select run_id as "runId" from back`
}

/** Returns runs that a worker never started, because it stops or has no room: no attempt was made, so none is counted. */
export function handBackRuns(runs: readonly LeasedRun[]) {
  return sql<{ runId: string }>`
    with before as (
      select a.run_id, a.gate_id, a.queue_gate_id, a.project_id, a.holds_project_place, a.claimed_at, i.side, coalesce(i.moved_to, a.lane) as lane
      from agenda a
      join unnest(
        ${list(runs, (r) => r.runId)}::uuid[], ${list(runs, (r) => r.fence)}::integer[], ${list(runs, (r) => r.side ?? null)}::bigint[],
        ${list(runs, (r) => r.movedTo ?? null)}::bigint[])
        as i(run_id, fence, side, moved_to) on i.run_id = a.run_id
      where a.fence = i.fence and a.state = 'running'
      for update of a
    ), back as (
      update agenda a set state = 'pending', worker_id = null, claimed_at = null, gate_id = null, queue_gate_id = null, holds_project_place = null,
        lane = b.lane, side = b.side, fence = a.fence + 1, attempt = a.attempt - 1
      from before b where a.run_id = b.run_id
      returning a.run_id, a.lane, a.side, a.priority, a.wake_at
    ), ${queued(part`from back`)}, ${returnedPlaces}
    select run_id as "runId" from back`
}

/** Returns whether a session with that name from before an instant still exists: statements sent to it may still be executed. */
export const hasOlderSession = (name: string, before: number) => sql<{ exists: boolean }>`
  select exists (
    select from pg_stat_activity
    where datname = current_database() and application_name = ${name} and backend_start < to_timestamp(${before}::float8 / 1000)
  ) as exists`

/**
 * Returns the runs that a node claimed before an instant and still leases. There is no index by worker; running rows have come
 * due, so each shard is read from its beginning up to now, and no future rows are read.
 */
export const leasedRuns = ({
  nodeId,
  claimedBefore,
}: {
  nodeId: string
  claimedBefore: number
}) => sql<LeasedRun>`
  select a.run_id as "runId", a.fence
  from generate_series(0, ${SHARD_COUNT - 1}::integer) as s(id)
  cross join lateral (
    select run_id, fence from agenda
    where shard = s.id and wake_at <= now() + interval '1 second' and state = 'running'
      and worker_id = ${nodeId} and claimed_at < to_timestamp(${claimedBefore}::float8 / 1000)
  ) a`
