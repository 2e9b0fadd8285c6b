/**
 * Heartbeats of individual attempts. Only attempts that send heartbeats have a row; every attempt is also covered by the
 * heartbeats of its worker, from the claim on.
 */
import type { TokenAttempt } from '../../core/access/token-attempt.ts'
import { list, sql } from '../database/sql.ts'
import type { LeasedRunRow } from './remote-runs.ts'

type Attempt = Pick<TokenAttempt, 'runId' | 'fence' | 'workerId'>

/** Records a heartbeat of an attempt. No row if the attempt has ended or its worker is dead. */
export const beatAttempt = ({
  runId,
  fence,
  workerId,
  podName,
}: Attempt & Pick<TokenAttempt, 'podName'>) => sql<{ at: number }>`
  insert into attempt_beat (run_id, fence, task_id, pod_name)
  select a.run_id, a.fence, a.task_id, ${podName}
  from agenda a join node n on n.id = a.worker_id
  where a.run_id = ${runId} and a.fence = ${fence} and a.worker_id = ${workerId} and a.state = 'running' and n.dead_at is null
  on conflict (run_id, fence) do update set at = clock_timestamp() where not attempt_beat.finished
  returning at`

/** Records that no more heartbeats will come from attempts. */
export const finishBeats = (attempts: readonly Pick<Attempt, 'runId' | 'fence'>[]) => sql`
  update attempt_beat b set finished = true
  from unnest(${list(attempts, (a) => a.runId)}::uuid[], ${list(attempts, (a) => a.fence)}::integer[]) as i(run_id, fence)
  where b.run_id = i.run_id and b.fence = i.fence and not b.finished`

/** Returns whether an attempt that has ended was lost: its worker is dead, or the attempt itself was silent for too long. */
export const wasLost = ({ runId, fence, workerId }: Attempt) => sql<{ isLost: boolean }>`
  select not exists (select from node where id = ${workerId} and dead_at is null)
      or exists (select from attempt where run_id = ${runId} and fence = ${fence} and outcome = 'worker_lost' and ended_at > now() - interval '2 days')
      or exists (select from run where run_id = ${runId} and fence = ${fence} and outcome = 'worker_lost' and ended_at > now() - interval '2 days')
      as "isLost"`

/** An attempt in progress that has sent heartbeats, and when it sent the last one. */
export interface QuietAttempt extends LeasedRunRow {
  readonly beatAt: number
}

/** Returns attempts in progress whose last heartbeat is older than `quietMs`, longest silent first. */
export const quietAttempts = ({ quietMs, limit }: { quietMs: number; limit: number }) => sql<QuietAttempt>`
  select a.run_id as "runId", a.task_id as "taskId", a.version, nullif(a.kind, 'occurrence') as kind, a.scheduled_for as "scheduledFor",
         a.wake_at as "wakeAt", a.claimed_at as "claimedAt", a.fence, a.attempt, a.losses, a.cancel_at is not null as "isCancelled",
         a.cancel_at as "cancelledAt", num_nonnulls(a.gate_id, a.queue_gate_id, a.holds_project_place) > 0 as "holdsPlace", b.at as "beatAt"
  from attempt_beat b join agenda a on a.run_id = b.run_id and a.fence = b.fence
  where not b.finished and b.at < now() - make_interval(secs => ${quietMs}::float8 / 1000) and a.state = 'running'
  order by b.at limit ${limit}`

/** Deletes heartbeats of attempts that have ended, once no more can be sent for them. */
export const deleteOldBeats = ({ minutes, limit }: { minutes: number; limit: number }) => sql`
  delete from attempt_beat where ctid = any(array(
    select b.ctid from attempt_beat b
    where b.at < now() - make_interval(mins => ${minutes}::integer)
      and (b.finished or not exists (select from agenda a where a.run_id = b.run_id and a.fence = b.fence and a.state = 'running'))
    limit ${limit}))`
