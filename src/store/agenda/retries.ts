/** Puts runs whose attempt failed back on the agenda for another one. Every write compares the fence. */
import type { Assurance } from '../../runtime/clock.ts'
import { assured, behind, CERTAIN } from '../database/assured.ts'
import { jsonList, list, part, sql } from '../database/sql.ts'
import { freedPlaces } from '../queues/gates.ts'
import { JITTER, lateness, outcomeJson } from './outcomes.ts'

/** An attempt that failed and will be followed by another. */
export interface Retry {
  readonly runId: string
  readonly fence: number
  readonly outcome: 'failed' | 'timed_out'
  readonly startedAt: number | null
  readonly endedAt: number
  readonly retryAt: number
  readonly output: unknown
  readonly error: unknown
}

/** A run that waits for its next attempt. */
export interface RetriedRow {
  readonly runId: string
  readonly shard: number
  /** Whether slots of gates were freed by this batch. */
  readonly hasFreedGates: boolean
}

/** Puts runs back on the agenda for another attempt. A run that was cancelled meanwhile is not returned. */
export function retryRuns(retries: readonly Retry[], assurance: Assurance = CERTAIN) {
  return sql<RetriedRow>`
    with ${behind(assurance)}, given as materialized (
      select * from unnest(
        ${list(retries, (r) => r.runId)}::uuid[], ${list(retries, (r) => r.fence)}::integer[],
        ${list(retries, (r) => r.outcome)}::text[], ${list(retries, (r) => r.startedAt)}::float8[],
        ${list(retries, (r) => r.endedAt)}::float8[], ${list(retries, (r) => r.retryAt)}::float8[],
        ${jsonList(retries, (r) => outcomeJson(r.output))}::jsonb[], ${jsonList(retries, (r) => outcomeJson(r.error))}::jsonb[])
        as i(run_id, fence, outcome, started_ms, ended_ms, retry_ms, output, error)
    ), input as materialized (
      select run_id, fence, outcome, ${assured(part`started_ms`)} as started_ms, ${assured(part`ended_ms`)} as ended_ms,
             ${assured(part`retry_ms`)} as retry_ms, output, error
      from given
    ), before as (
      select a.run_id, a.task_id, a.worker_id, a.attempt, a.fence, a.gate_id, a.queue_gate_id, a.project_id, a.holds_project_place
      from agenda a join input i on a.run_id = i.run_id
      where a.fence = i.fence and a.state = 'running' and a.cancel_at is null
      for update of a
    ), waiting as (
      update agenda a set state = 'retrying', wake_at = to_timestamp(i.retry_ms / 1000), worker_id = null, claimed_at = null,
        gate_id = null, queue_gate_id = null, holds_project_place = null,
        late_ms = ${lateness(part`to_timestamp(i.started_ms / 1000)`, JITTER)}
      from input i
      where a.run_id = i.run_id and a.run_id in (select run_id from before)
      returning a.run_id, a.shard
    ), kept as (
      insert into attempt (run_id, task_id, worker_id, started_at, ended_at, number, fence, outcome, output, error)
      select b.run_id, b.task_id, b.worker_id, to_timestamp(i.started_ms / 1000),
             to_timestamp(greatest(i.started_ms, i.ended_ms) / 1000), b.attempt, b.fence, i.outcome, i.output, i.error
      from before b join input i on i.run_id = b.run_id
    ), ${freedPlaces}
    select run_id as "runId", shard, exists (select from freed) as "hasFreedGates" from waiting`
}
